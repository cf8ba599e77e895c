// Which variables of the environment configurations may refer to. The environment of a node holds much that is not
// for models, so nothing of it is theirs unless the operator says so (`--provider-variables`).

import { isHostOf } from './url-rules.ts'

/** One variable, or one secret as `secret:name`. */
export interface VariableGrant {
  readonly name: string
  /** The only host that it may be sent to: `host` or `host:port`. Undefined: those of the rules of URLs. */
  readonly host: string | undefined
}

/** Where the value of a variable would go. */
export interface VariableUse {
  /** Undefined: it is a part of a path or of a host's name. */
  readonly url?: URL
  /** The variable that stands in for the provider's key, which may be named as well. */
  readonly keyVariable?: string | undefined
}

/** Whether a configuration may refer to the variable. */
export function isGranted(
  name: string,
  grants: readonly VariableGrant[],
  { url, keyVariable }: VariableUse,
): boolean {
  const named = grants.filter((grant) => grant.name === name)
  if (named.length === 0) return name === keyVariable
  return named.some(({ host }) => host === undefined || (url !== undefined && isHostOf(url, host)))
}

/**
 * Whether a secret that has a file may go there. The operator gave it to models by its file, so it needs no grant; but
 * if there are grants of `secret:name`, they say to which hosts it may go.
 */
export function isSecretGranted(
  name: string,
  grants: readonly VariableGrant[],
  use: VariableUse,
): boolean {
  const grantName = `secret:${name}`
  const isBound = grants.some((grant) => grant.name === grantName)
  return !isBound || isGranted(grantName, grants, use)
}

const GRANT =
  /^(?<name>[A-Za-z_][A-Za-z0-9_]{0,255}|secret:[A-Za-z0-9._-]{1,253})(?:@(?<host>[^@,\s]+))?$/

/** Undefined for a text of another form. `isHost` checks the host. */
export function parseGrant(
  text: string,
  isHost: (text: string) => boolean,
): VariableGrant | undefined {
  const { name, host } = GRANT.exec(text)?.groups ?? {}
  if (name === undefined || (host !== undefined && !isHost(host))) return undefined
  return { name, host }
}
