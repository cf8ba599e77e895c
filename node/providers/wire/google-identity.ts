// Who the node is to the cloud AI platform: Application Default Credentials, by the platform's own library. It is
// loaded with the first call that needs it.

import type { GoogleAuth } from 'google-auth-library'
import type { Clock } from '../../../lib/clock.ts'
import { prodWhenLate } from '../../../lib/deadline.ts'
import { unlessAborted } from '../../../lib/unless-aborted.ts'
import { unavailable } from '../contract/provider-error.ts'

/** Gives tokens, and the project that they belong to if the surroundings name one. */
export interface CloudIdentity {
  /** Rejects with a ProviderError, or with the signal's reason. */
  token(name: string, signal: AbortSignal): Promise<string>
  projectId(signal: AbortSignal): Promise<string | undefined>
}

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'
const IDENTITY_TIMEOUT_MS = 20_000

/** The library keeps a token until it expires. */
export class GoogleIdentity implements CloudIdentity {
  readonly #clock: Clock
  #auth: Promise<GoogleAuth> | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async token(name: string, signal: AbortSignal): Promise<string> {
    const token = await this.#ask(signal, async () => (await this.#open()).getAccessToken())
    if (typeof token === 'string' && token !== '') return token
    throw unavailable(
      `${name}: the node has no credentials; set GOOGLE_APPLICATION_CREDENTIALS, or run it where the platform gives it an identity`,
    )
  }

  projectId(signal: AbortSignal): Promise<string | undefined> {
    return this.#ask(signal, async () => (await this.#open()).getProjectId())
  }

  #open(): Promise<GoogleAuth> {
    this.#auth ??= import('google-auth-library').then(
      ({ GoogleAuth: Auth }) => new Auth({ scopes: [SCOPE] }),
    )
    return this.#auth
  }

  /** Undefined for every failure: messages of the library may quote credentials. */
  async #ask<Answer>(
    signal: AbortSignal,
    work: () => Promise<Answer>,
  ): Promise<Answer | undefined> {
    const late = new AbortController()
    const either = AbortSignal.any([signal, late.signal])
    try {
      return await prodWhenLate(unlessAborted(work(), either), {
        clock: this.#clock,
        ms: IDENTITY_TIMEOUT_MS,
        onLate: () => late.abort(),
      })
    } catch {
      signal.throwIfAborted()
      return undefined
    }
  }
}
