"""TLS by one setting: who may speak is who has a certificate of one authority, made out to the name of its node."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from auroral.wire.errors import WireError

CA, CERTIFICATE, KEY = "ca.pem", "cert.pem", "key.pem"
READERS, SERVER, READER = "tls-readers", "server", "reader"
"""The folder with the certificates of who serves the outputs of a deployment, and of whoever reads them. They are of an authority of their own, so
that no reader can speak to a node."""
NAMES = "1 to 63 letters a to z, digits, - and _"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,63}")


def can_be_certified(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class Certificates:
    """PEM. The certificate names the node as its first subject alternative name (DNS), and serves for both ends of a connection: it must
    not be restricted to one of them."""

    ca: bytes
    certificate: bytes
    key: bytes

    @staticmethod
    def from_files(ca: Path, certificate: Path, key: Path) -> Certificates:
        found = []
        for path in (ca, certificate, key):
            try:
                data = path.read_bytes()
            except OSError as error:
                raise WireError(
                    f"a file for TLS cannot be read: {error.strerror}", str(path), f"{CA}, {CERTIFICATE}, {KEY}"
                ) from error
            if b"-----BEGIN " not in data:
                raise WireError("this is no PEM file", str(path), "text with a line -----BEGIN ...-----")
            found.append(data)
        return Certificates(*found)

    def write(self, folder: Path) -> None:
        """Into a new folder, that its owner alone can look into. Durable when this returns."""
        folder.mkdir(mode=0o700, parents=True)
        for name, content in ((CA, self.ca), (CERTIFICATE, self.certificate), (KEY, self.key)):
            descriptor = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as opened:
                opened.write(content)
                opened.flush()
                os.fsync(opened.fileno())

    @staticmethod
    def from_folder(folder: Path) -> Certificates:
        return Certificates.from_files(folder / CA, folder / CERTIFICATE, folder / KEY)

    @property
    def of_server(self) -> dict[str, Any]:
        """What a Flight server is made with that serves nobody without a certificate."""
        return {
            "tls_certificates": [(self.certificate, self.key)],
            "verify_client": True,
            "root_certificates": self.ca,
        }

    def of_caller(self, name: str) -> dict[str, Any]:
        """What a Flight client is made with that speaks only to whoever has this name."""
        return {
            "tls_root_certs": self.ca,
            "cert_chain": self.certificate,
            "private_key": self.key,
            "override_hostname": name,
        }
