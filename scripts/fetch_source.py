#!/usr/bin/env python3
"""Fetches chosen files out of a package's source archive, checked by hash, without building or installing it.

  fetch_source.py --registry pypi|npm --package NAME --version V --sha256 HEX --folder PATH/BELOW/TOP/FOLDER --into DIR FILE...

Uses pip's own client, so that pip's settings (index, proxy, certificates, find-links) hold; npm's registry address is
$NPM_CONFIG_REGISTRY if that is set. Nothing to do when the files are there. Exits 1 with one sentence when it fails."""
import argparse
import fcntl
import hashlib
import logging
import os
import pathlib
import sys
import tarfile
import tempfile


class FetchError(RuntimeError):
    pass


def pypi_address(command, options, session, name: str, version: str) -> str:
    finder = command._build_package_finder(options=options, session=session)
    links = [c.link for c in finder.find_all_candidates(name)
             if str(c.version) == version and c.link.filename.endswith(".tar.gz")]
    if not links:
        raise FetchError("it was not found in the package index (no network, or an index without it; see: pip config list)")
    return links[0].url_without_fragment


def npm_address(name: str, version: str) -> str:
    registry = os.environ.get("NPM_CONFIG_REGISTRY", "https://registry.npmjs.org").rstrip("/")
    return f"{registry}/{name}/-/{name}-{version}.tgz"


def download(registry: str, name: str, version: str, sha256: str, target) -> None:
    """Writes the archive to target. pip's `index` command object brings the settings, session and finder."""
    from pip._internal.commands import create_command
    command = create_command("index")
    options, _ = command.parse_args(["versions", name, "--no-binary", ":all:", "--disable-pip-version-check"])
    with command.main_context(), command._build_session(options, retries=2) as session:
        address = npm_address(name, version) if registry == "npm" else pypi_address(command, options, session, name, version)
        answer = session.get(address, stream=True, headers={"Accept-Encoding": "identity"})
        answer.raise_for_status()
        digest = hashlib.sha256()
        for piece in answer.iter_content(1 << 20):
            digest.update(piece)
            target.write(piece)
    if digest.hexdigest() != sha256:
        raise FetchError("its SHA-256 is not the expected one, so it is not used")
    target.flush()


def extract(archive: str, folder: str, names: list, into: pathlib.Path) -> None:
    with tarfile.open(archive, "r:gz") as tar:
        wanted = {f"{folder}/{name}": name for name in names}
        for member in tar:
            inner = member.name.partition("/")[2]
            if inner in wanted and member.isfile():
                partial = into / (wanted[inner] + ".partial")
                partial.parent.mkdir(parents=True, exist_ok=True)
                partial.write_bytes(tar.extractfile(member).read())
                partial.rename(into / wanted.pop(inner))
            if not wanted:
                return
    raise FetchError("it does not hold " + ", ".join(sorted(wanted)))


def main() -> None:
    a = argparse.ArgumentParser()
    a.add_argument("--registry", choices=("pypi", "npm"), required=True)
    for name in ("package", "version", "sha256", "folder"):
        a.add_argument("--" + name, required=True)
    a.add_argument("--into", type=pathlib.Path, required=True)
    a.add_argument("files", nargs="+")
    o = a.parse_args()
    o.into.mkdir(parents=True, exist_ok=True)
    logging.disable(logging.WARNING)
    with open(o.into / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several configure steps may run at once
        if all((o.into / name).exists() for name in o.files):
            return
        try:
            with tempfile.NamedTemporaryFile(suffix=".tar.gz") as archive:
                download(o.registry, o.package, o.version, o.sha256, archive)
                extract(archive.name, o.folder, o.files, o.into)
        except Exception as error:  # the script's edge: whatever pip raised becomes one sentence
            reason = " ".join(str(error).split()) or type(error).__name__
            sys.exit(f"error: {o.package} {o.version} could not be fetched: {reason}")


if __name__ == "__main__":
    main()
