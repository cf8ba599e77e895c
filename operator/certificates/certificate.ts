// X.509 certificates (RFC 5280) with P-256 keys. The structures come from @peculiar/asn1-x509; keys,
// signatures and reading are those of Node.

import { createHash, sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { isIP } from 'node:net'
import { AsnConvert, OctetString } from '@peculiar/asn1-schema'
import * as x509 from '@peculiar/asn1-x509'

const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2'
const COMMON_NAME = '2.5.4.3'
/** Version 3, the one that has extensions, is written as 2. */
const VERSION_3 = 2
const { digitalSignature, keyCertSign, cRLSign } = x509.KeyUsageFlags

/** A key pair and the number of the certificate that is made for it. */
export interface CertificateKeys {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
  /** At most 20 bytes; unique among the certificates of an issuer. */
  readonly serialNumber: Uint8Array
}

/** Whom a certificate is for. */
export type CertificateSubject =
  | { readonly kind: 'authority'; readonly commonName: string }
  | {
      readonly kind: 'server' | 'client'
      readonly commonName: string
      /** DNS names and addresses; empty for one that only opens connections. */
      readonly names: readonly string[]
    }

/** Who signs: a certificate's subject and its private key. */
export interface Issuer {
  readonly commonName: string
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

/** All that a certificate says, and who signs it. */
export interface CertificateRequest {
  readonly subject: CertificateSubject
  readonly keys: CertificateKeys
  readonly issuer: Issuer
  readonly notBeforeMs: number
  readonly notAfterMs: number
}

/** The certificate in PEM. All but the signature follows from the request. */
export function buildCertificate(request: CertificateRequest): string {
  const tbs = new x509.TBSCertificate({
    version: VERSION_3,
    serialNumber: bytesOf(positive(request.keys.serialNumber)),
    signature: new x509.AlgorithmIdentifier({ algorithm: ECDSA_WITH_SHA256 }),
    issuer: nameOf(request.issuer.commonName),
    validity: new x509.Validity({
      notBefore: new Date(request.notBeforeMs),
      notAfter: new Date(request.notAfterMs),
    }),
    subject: nameOf(request.subject.commonName),
    subjectPublicKeyInfo: publicKeyInfo(request.keys.publicKey),
    extensions: new x509.Extensions(extensionsOf(request)),
  })
  const signed = AsnConvert.serialize(tbs)
  const certificate = new x509.Certificate({
    tbsCertificate: tbs,
    signatureAlgorithm: new x509.AlgorithmIdentifier({ algorithm: ECDSA_WITH_SHA256 }),
    signatureValue: bytesOf(sign('sha256', new Uint8Array(signed), request.issuer.privateKey)),
  })
  return pemOf(AsnConvert.serialize(certificate))
}

function extensionsOf({ subject, keys, issuer }: CertificateRequest): x509.Extension[] {
  const isAuthority = subject.kind === 'authority'
  const usage = isAuthority ? keyCertSign | cRLSign : digitalSignature
  return [
    extension(x509.id_ce_basicConstraints, basicConstraints(isAuthority), 'critical'),
    extension(x509.id_ce_keyUsage, new x509.KeyUsage(usage), 'critical'),
    ...(subject.kind === 'authority'
      ? []
      : [extension(x509.id_ce_extKeyUsage, purposes(subject.kind))]),
    extension(
      x509.id_ce_subjectKeyIdentifier,
      new x509.SubjectKeyIdentifier(keyId(keys.publicKey)),
    ),
    extension(
      x509.id_ce_authorityKeyIdentifier,
      new x509.AuthorityKeyIdentifier({
        keyIdentifier: new x509.KeyIdentifier(keyId(issuer.publicKey)),
      }),
    ),
    ...(subject.kind === 'authority' || subject.names.length === 0
      ? []
      : [extension(x509.id_ce_subjectAltName, alternativeNames(subject.names))]),
  ]
}

/** An authority signs certificates of others, and no further authority. */
function basicConstraints(isAuthority: boolean): x509.BasicConstraints {
  return new x509.BasicConstraints(isAuthority ? { cA: true, pathLenConstraint: 0 } : {})
}

/** A server of etcd also opens connections: to the other members, and to itself for its HTTP gateway. */
function purposes(kind: 'server' | 'client'): x509.ExtendedKeyUsage {
  const { id_kp_serverAuth: server, id_kp_clientAuth: client } = x509
  return new x509.ExtendedKeyUsage(kind === 'server' ? [server, client] : [client])
}

function alternativeNames(names: readonly string[]): x509.SubjectAlternativeName {
  return new x509.SubjectAlternativeName(
    names.map(
      (name) => new x509.GeneralName(isIP(name) === 0 ? { dNSName: name } : { iPAddress: name }),
    ),
  )
}

function extension(id: string, value: object, critical?: 'critical'): x509.Extension {
  return new x509.Extension({
    extnID: id,
    critical: critical !== undefined,
    extnValue: new OctetString(AsnConvert.serialize(value)),
  })
}

function nameOf(commonName: string): x509.Name {
  const value = new x509.AttributeValue({ utf8String: commonName })
  const attribute = new x509.AttributeTypeAndValue({ type: COMMON_NAME, value })
  return new x509.Name([new x509.RelativeDistinguishedName([attribute])])
}

function publicKeyInfo(key: KeyObject): x509.SubjectPublicKeyInfo {
  const der = key.export({ type: 'spki', format: 'der' })
  return AsnConvert.parse(der, x509.SubjectPublicKeyInfo)
}

/** Method 1 of RFC 5280, 4.2.1.2: a digest of the bits of the public key. */
function keyId(key: KeyObject): ArrayBuffer {
  const bits = new Uint8Array(publicKeyInfo(key).subjectPublicKey)
  return bytesOf(createHash('sha1').update(bits).digest())
}

/** A first bit of 0 makes the number positive, and a first byte above 0 keeps it in its shortest form. */
function positive(serialNumber: Uint8Array): Uint8Array {
  const copy = Uint8Array.from(serialNumber)
  copy[0] = ((copy[0] ?? 0) & 0x7f) | 0x40
  return copy
}

function bytesOf(bytes: Uint8Array): ArrayBuffer {
  return Uint8Array.from(bytes).buffer
}

function pemOf(der: ArrayBuffer): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}
