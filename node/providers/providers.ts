// All that a node has of providers, built in order: one HTTP client, one way to resolve configurations, one pool.

import type { Clock } from '../../lib/clock.ts'
import { ProviderAccess } from './access/provider-access.ts'
import type { ProviderSurroundings } from './access/provider-access.ts'
import type { IsPublic } from './access/url-rules.ts'
import { EmbedderPool } from './embedding/embedder-pool.ts'
import { QueryVectors } from './embedding/query-vectors.ts'
import { ProviderCaller } from './http/provider-call.ts'
import { ProviderHttp } from './http/provider-http.ts'
import { openEmbedder } from './open-embedder.ts'
import { BedrockClients } from './wire/bedrock-client.ts'
import { GoogleIdentity } from './wire/google-identity.ts'
import type { CloudIdentity } from './wire/google-identity.ts'
import { TIMEOUTS_DEFAULT } from './wire/wire-parts.ts'
import type { ProviderTimeouts, WireParts } from './wire/wire-parts.ts'

/** What a node gives its providers. */
export interface ProvidersParts extends ProviderSurroundings {
  readonly clock: Clock
  readonly isPublic: IsPublic
  readonly timeouts?: ProviderTimeouts
  /** Absent: the identity that the surroundings of the process give. */
  readonly identity?: CloudIdentity
}

/** The providers of one node. */
export class Providers implements AsyncDisposable {
  readonly embedders: EmbedderPool
  readonly queryVectors: QueryVectors
  /** For openers of single generators, rerankers and chunkers. */
  readonly wire: WireParts
  readonly #http: ProviderHttp

  constructor({
    clock,
    isPublic,
    timeouts = TIMEOUTS_DEFAULT,
    identity,
    ...around
  }: ProvidersParts) {
    this.#http = new ProviderHttp({ clock, isPublic, env: around.env })
    this.wire = {
      access: new ProviderAccess(around),
      caller: new ProviderCaller(this.#http, clock),
      identity: identity ?? new GoogleIdentity(clock),
      bedrock: new BedrockClients(),
      timeouts,
    }
    this.embedders = new EmbedderPool((config) => openEmbedder(config, this.wire, clock))
    this.queryVectors = new QueryVectors(clock)
  }

  /** Ends all calls, and closes idle connections. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.embedders[Symbol.asyncDispose]()
    this.wire.bedrock[Symbol.dispose]()
    this.#http[Symbol.dispose]()
  }
}
