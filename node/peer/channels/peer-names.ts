// Which certificates are those of nodes. An authority signs for many: for the metrics and the web pages of the same
// cluster, too. So a certificate must carry a name that the operator has given to nodes.

import type { PeerCertificate } from 'node:tls'

const PATTERN = /^[A-Za-z0-9*](?:[A-Za-z0-9.:_*-]{0,251}[A-Za-z0-9*])?$/

/** Whether a text is a pattern: a name or an address, where `*` is any part of a name between its dots. */
export function isPeerName(text: string): boolean {
  return PATTERN.test(text) && !/^[*.]+$/.test(text)
}

/** Whether one of the names of a certificate fits one of the patterns. */
export function hasPeerName(
  certificate: Pick<PeerCertificate, 'subjectaltname'>,
  patterns: readonly string[],
): boolean {
  const names = namesOf(certificate)
  return patterns.some((pattern) => {
    const form = expressionOf(pattern)
    return names.some((name) => form.test(name))
  })
}

/** DNS names and addresses. The common name says nothing, as for any client of TLS. */
function namesOf({
  subjectaltname = '',
}: Pick<PeerCertificate, 'subjectaltname'>): readonly string[] {
  // Node quotes what could be mistaken for two names, and such a name is nobody's here.
  return subjectaltname.split(', ').flatMap((entry) => {
    const name = /^(?:DNS|IP Address):(?<name>[^"]+)$/.exec(entry)?.groups?.['name']
    return name === undefined ? [] : [name]
  })
}

function expressionOf(pattern: string): RegExp {
  const parts = pattern.split('*').map((part) => RegExp.escape(part))
  return new RegExp(`^${parts.join('[^.]*')}$`, 'i')
}
