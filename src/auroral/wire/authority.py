"""Certificates for the processes of one deployment: an authority is made, lets each of them in, and is gone."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from auroral.wire.certificates import Certificates, can_be_certified

_SKEW = timedelta(days=1)
"""By which clocks of machines may be behind."""
_LIFE = timedelta(days=3650)


def issue(names: Iterable[str]) -> dict[str, Certificates]:
    """By name. The key of the authority is kept nowhere: nobody else can ever be let in, and whoever reads the key of one process can speak
    for that one alone."""
    key = ec.generate_private_key(ec.SECP256R1())
    own = _named("authority of an Auroral deployment")
    by = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    authority = (
        _certificate(own, own, key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(by, critical=False)
        .add_extension(_usage(signs=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    found = {}
    for name in names:
        assert can_be_certified(name), name
        theirs = ec.generate_private_key(ec.SECP256R1())
        certificate = (
            _certificate(_named(name), own, theirs.public_key())
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(by), critical=False)
            .add_extension(_usage(signs=False), critical=True)
            # Either side of a connection may be who called.
            .add_extension(
                x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
                critical=False,
            )
            .sign(key, hashes.SHA256())
        )
        found[name] = Certificates(_pem(authority), _pem(certificate), _private(theirs))
    return found


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _certificate(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + _LIFE)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _private(key: ec.EllipticCurvePrivateKey) -> bytes:
    plain = serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
