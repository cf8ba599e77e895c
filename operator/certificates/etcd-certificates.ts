// The certificates of a cluster's own etcd: an authority, one pair for the members as servers, one for
// the members among each other, and one for the nodes and the operator.
//
// Everything follows from the certificates themselves and the time: no date is stored elsewhere.
//
//   authority   10 years; in its last 2 years a second one stands beside it
//   the others  90 days; replaced in their last 30
//
// Invariants:
//   XC1  Each certificate is signed by an authority of the set, and valid at the time of the call.
//   XC2  A new authority signs nothing for its first 7 days: etcd reads the authorities that it trusts only at
//       its start, so every member has to start once with both before one shows a certificate of the new one.
//   XC3  What is neither due nor unfit stays as it is, to the byte: a changed certificate is a changed Secret.
//   XC4  An authority whose key is lost stays trusted as long as a certificate of it is in use: members that run trust
//       no other one until they start again.

import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { buildCertificate } from './certificate.ts'
import type { CertificateKeys, Issuer } from './certificate.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const YEAR_MS = 365 * DAY_MS

/** Clocks of machines differ by less. */
export const BACKDATED_MS = 5 * MINUTE_MS
export const AUTHORITY_VALID_MS = 10 * YEAR_MS
export const AUTHORITY_RENEWED_MS = 2 * YEAR_MS
export const AUTHORITY_QUIET_MS = 7 * DAY_MS
export const CERTIFICATE_VALID_MS = 90 * DAY_MS
export const CERTIFICATE_RENEWED_MS = 30 * DAY_MS

const SERVER_COMMON_NAME = 'etcd-server'
const CLIENT_COMMON_NAME = 'quarry'

/** A private key and its certificate, as files have them. */
export interface KeyAndCertificate {
  /** PKCS #8, in PEM. */
  readonly key: string
  /** In PEM. */
  readonly certificate: string
}

/** All that an etcd and its clients show to each other. */
export interface EtcdCertificates {
  /** Certificates of authorities whose keys are lost (XC4), in PEM. */
  readonly former: readonly string[]
  /** Oldest first. All are trusted. */
  readonly authorities: readonly KeyAndCertificate[]
  readonly server: KeyAndCertificate
  readonly peer: KeyAndCertificate
  readonly client: KeyAndCertificate
}

/** By which names members are reached. */
export interface EtcdNames {
  /** Part of the authority's name. */
  readonly cluster: string
  readonly server: readonly string[]
  readonly peer: readonly string[]
  /** The name that members show to each other. Etcd accepts no peer with another, such as a client. */
  readonly peerCommonName: string
}

/**
 * The source of keys. Contract:
 * - Each call gives a P-256 pair that nobody has seen and a serial number of 16 random bytes.
 */
export interface KeySource {
  next(): CertificateKeys
}

/** What holds from now on, and until when. */
export interface RenewedCertificates {
  readonly certificates: EtcdCertificates
  /** Nothing is due before. */
  readonly nextAtMs: number
}

/** The certificates that hold from now on, from the existing ones; undefined: there are no certificates yet. */
export function renewEtcdCertificates(
  current: EtcdCertificates | undefined,
  {
    names,
    nowMs,
    keys,
  }: { readonly names: EtcdNames; readonly nowMs: number; readonly keys: KeySource },
): RenewedCertificates {
  const authorities = renewAuthorities(current?.authorities ?? [], { names, nowMs, keys })
  const former = (current?.former ?? []).filter((one) => isTrustworthy(one, nowMs))
  const trusted = trustedOf({ authorities, former })
  const renew = (
    have: KeyAndCertificate | undefined,
    wanted: WantedCertificate,
  ): KeyAndCertificate =>
    have !== undefined && isFit(have, { wanted, trusted, nowMs })
      ? have
      : issue(wanted, { authority: signingAuthority(authorities, nowMs), nowMs, keys })
  const wanted = wantedCertificates(names)
  const pairs = {
    server: renew(current?.server, wanted.server),
    peer: renew(current?.peer, wanted.peer),
    client: renew(current?.client, wanted.client),
  }
  const certificates: EtcdCertificates = {
    former: former.filter((one) => isInUse(one, pairs)),
    authorities,
    ...pairs,
  }
  return { certificates, nextAtMs: nextRenewal(certificates, nowMs) }
}

/** What `renewEtcdCertificates` would replace. */
export interface DueCertificates {
  /** An authority is missing, of no use, or due. */
  readonly authorities: boolean
  /** A certificate that members or clients show is missing, of no use or due, or a needless authority is trusted. */
  readonly others: boolean
  /** Nothing else is due before. */
  readonly nextAtMs: number
}

/** Takes no keys. What is due is so from `nowMs` on, until it is replaced. */
export function dueEtcdCertificates(
  current: EtcdCertificates,
  { names, nowMs }: { readonly names: EtcdNames; readonly nowMs: number },
): DueCertificates {
  const usable = current.authorities.filter((one) => isUsableAuthority(one, nowMs))
  const newest = usable.at(-1)
  const isDue =
    newest === undefined ||
    usable.length < current.authorities.length ||
    nowMs >= authorityDueMs(newest)
  const former = current.former.filter((one) => isTrustworthy(one, nowMs))
  const trusted = trustedOf({ authorities: usable, former })
  const wanted = wantedCertificates(names)
  const isWhole =
    isFit(current.server, { wanted: wanted.server, trusted, nowMs }) &&
    isFit(current.peer, { wanted: wanted.peer, trusted, nowMs }) &&
    isFit(current.client, { wanted: wanted.client, trusted, nowMs }) &&
    current.former.every((one) => former.includes(one) && isInUse(one, current))
  const nextAtMs = isDue || !isWhole ? nowMs : nextRenewal(current, nowMs)
  return { authorities: isDue, others: !isWhole, nextAtMs }
}

/** All authorities that members and clients trust, oldest first, in PEM. */
export function trustedOf({
  former,
  authorities,
}: Pick<EtcdCertificates, 'former' | 'authorities'>): readonly string[] {
  return [...former, ...authorities.map(({ certificate }) => certificate)]
}

function wantedCertificates({ server, peer, peerCommonName }: EtcdNames) {
  return {
    server: { kind: 'server', commonName: SERVER_COMMON_NAME, names: server },
    peer: { kind: 'server', commonName: peerCommonName, names: peer },
    client: { kind: 'client', commonName: CLIENT_COMMON_NAME, names: [] },
  } as const satisfies Record<string, WantedCertificate>
}

interface WantedCertificate {
  readonly kind: 'server' | 'client'
  readonly commonName: string
  readonly names: readonly string[]
}

function renewAuthorities(
  current: readonly KeyAndCertificate[],
  {
    names,
    nowMs,
    keys,
  }: { readonly names: EtcdNames; readonly nowMs: number; readonly keys: KeySource },
): readonly KeyAndCertificate[] {
  const usable = current.filter((one) => isUsableAuthority(one, nowMs))
  const newest = usable.at(-1)
  if (newest !== undefined && nowMs < authorityDueMs(newest)) return usable
  return [...usable, issueAuthority(names.cluster, { nowMs, keys })]
}

function issueAuthority(
  cluster: string,
  { nowMs, keys }: { readonly nowMs: number; readonly keys: KeySource },
): KeyAndCertificate {
  const pair = keys.next()
  // Two authorities of a cluster have different names, so that a verifier never takes one for the other.
  const commonName = `${cluster} etcd ${Buffer.from(pair.serialNumber).toString('hex').slice(0, 8)}`
  const subject = { kind: 'authority', commonName } as const
  const issuer = { commonName, privateKey: pair.privateKey, publicKey: pair.publicKey }
  return signed({ subject, keys: pair, issuer }, { nowMs, validMs: AUTHORITY_VALID_MS })
}

function issue(
  subject: WantedCertificate,
  options: {
    readonly authority: KeyAndCertificate
    readonly nowMs: number
    readonly keys: KeySource
  },
): KeyAndCertificate {
  const issuer = issuerOf(options.authority)
  const { nowMs } = options
  return signed(
    { subject, keys: options.keys.next(), issuer },
    { nowMs, validMs: CERTIFICATE_VALID_MS },
  )
}

function signed(
  request: Pick<Parameters<typeof buildCertificate>[0], 'subject' | 'keys' | 'issuer'>,
  { nowMs, validMs }: { readonly nowMs: number; readonly validMs: number },
): KeyAndCertificate {
  const times = { notBeforeMs: nowMs - BACKDATED_MS, notAfterMs: nowMs + validMs }
  return {
    key: request.keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    certificate: buildCertificate({ ...request, ...times }),
  }
}

/** XC2: the newest one that has been trusted for long enough, or the oldest. */
function signingAuthority(
  authorities: readonly KeyAndCertificate[],
  nowMs: number,
): KeyAndCertificate {
  const old = authorities.filter(
    (one) => validity(parsed(one)).fromMs + BACKDATED_MS + AUTHORITY_QUIET_MS <= nowMs,
  )
  const chosen = old.at(-1) ?? authorities[0]
  if (chosen === undefined) throw new RangeError('a set of certificates has an authority')
  return chosen
}

function issuerOf({ key, certificate }: KeyAndCertificate): Issuer {
  const { subject } = new X509Certificate(certificate)
  return {
    commonName: subject.replace(/^CN=/, ''),
    privateKey: createPrivateKey(key),
    publicKey: createPublicKey(key),
  }
}

function isUsableAuthority(one: KeyAndCertificate, nowMs: number): boolean {
  const certificate = parsedPair(one)
  return certificate !== undefined && certificate.ca && nowMs < validity(certificate).toMs
}

/** The certificate of an authority that may still be trusted, with or without its key. */
function isTrustworthy(authority: string, nowMs: number): boolean {
  try {
    const certificate = new X509Certificate(authority)
    return certificate.ca && nowMs < validity(certificate).toMs
  } catch {
    return false
  }
}

/** XC4. */
function isInUse(
  authority: string,
  pairs: Pick<EtcdCertificates, 'server' | 'peer' | 'client'>,
): boolean {
  const issuer = new X509Certificate(authority)
  return [pairs.server, pairs.peer, pairs.client].some((one) => {
    const certificate = parsedPair(one)
    return certificate !== undefined && isSignedBy(certificate, issuer)
  })
}

function isFit(
  have: KeyAndCertificate,
  {
    wanted,
    trusted,
    nowMs,
  }: {
    readonly wanted: WantedCertificate
    readonly trusted: readonly string[]
    readonly nowMs: number
  },
): boolean {
  const certificate = parsedPair(have)
  return (
    certificate !== undefined &&
    certificate.subject === `CN=${wanted.commonName}` &&
    nowMs < certificateDueMs(certificate) &&
    wanted.names.every((name) => covers(certificate, name)) &&
    trusted.some((authority) => isSignedBy(certificate, new X509Certificate(authority)))
  )
}

function covers(certificate: X509Certificate, name: string): boolean {
  const found = isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name)
  return found !== undefined
}

function isSignedBy(certificate: X509Certificate, authority: X509Certificate): boolean {
  return certificate.checkIssued(authority) && certificate.verify(authority.publicKey)
}

/** Undefined: one of both cannot be read, or they do not belong together. */
function parsedPair({ key, certificate }: KeyAndCertificate): X509Certificate | undefined {
  try {
    const parsedCertificate = new X509Certificate(certificate)
    return parsedCertificate.checkPrivateKey(createPrivateKey(key)) ? parsedCertificate : undefined
  } catch {
    return undefined
  }
}

/** Whether the key is the one of the certificate. */
export function isPair(one: KeyAndCertificate): boolean {
  return parsedPair(one) !== undefined
}

function parsed({ certificate }: KeyAndCertificate): X509Certificate {
  return new X509Certificate(certificate)
}

function validity(certificate: X509Certificate): {
  readonly fromMs: number
  readonly toMs: number
} {
  return { fromMs: certificate.validFromDate.getTime(), toMs: certificate.validToDate.getTime() }
}

function authorityDueMs(one: KeyAndCertificate): number {
  return validity(parsed(one)).toMs - AUTHORITY_RENEWED_MS
}

function certificateDueMs(certificate: X509Certificate): number {
  return validity(certificate).toMs - CERTIFICATE_RENEWED_MS
}

function nextRenewal(
  { former, authorities, server, peer, client }: EtcdCertificates,
  nowMs: number,
): number {
  const ends = trustedOf({ former, authorities }).map(
    (one) => validity(new X509Certificate(one)).toMs,
  )
  const newest = authorities.at(-1)
  const due = [server, peer, client].map((one) => certificateDueMs(parsed(one)))
  const authorityDue = newest === undefined ? [] : [authorityDueMs(newest)]
  return Math.min(...[...ends, ...due, ...authorityDue].filter((atMs) => atMs > nowMs))
}
