"""Certificates for tests, made with the openssl command."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from auroral.wire.certificates import Certificates


class Authority:
    def __init__(self, folder: Path):
        if shutil.which("openssl") is None:
            pytest.skip("certificates for tests are made with the `openssl` command, which is not installed")
        self.folder = folder
        folder.mkdir()
        key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "ca.key")
        self._openssl("req", "-x509", *key, "-out", "ca.pem", "-subj", "/CN=authority", "-days", "2")

    def certificate(self, node: str) -> Certificates:
        key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "key.pem")
        self._openssl("req", *key, "-out", "request", "-subj", f"/CN={node}")
        (self.folder / "names").write_text(f"subjectAltName=DNS:{node}\n")
        by = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names")
        self._openssl("x509", "-req", "-in", "request", *by, "-out", "cert.pem")
        return Certificates.from_folder(self.folder)

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)
