// All that a node has of providers, built in order: one HTTP client, one way to resolve configurations, one pool.

import type { Clock } from '../../lib/clock.ts'
import { ProviderAccess } from './access/provider-access.ts'
import type { KeySeal } from './access/key-seal.ts'
import type { ProviderSurroundings } from './access/provider-access.ts'
import type { IsPublic } from './access/url-rules.ts'
import { EmbedderPool } from './pool/embedder-pool.ts'
import { QueryVectors } from './embedding/query-vectors.ts'
import { ProviderCaller } from './http/provider-call.ts'
import { ProviderHttp } from './http/provider-http.ts'
import { ModelPool } from './pool/model-pool.ts'
import { openEmbedder } from './open-embedder.ts'
import type { ChunkerConfig, GeneratorConfig, RerankerConfig } from './config/provider-config.ts'
import type { Chunker, Generator, Reranker } from './contract/provider.ts'
import { BedrockClients } from './wire/bedrock-client.ts'
import { openChunker } from './wire/chunkers.ts'
import { openGenerator } from './wire/generators.ts'
import { GoogleIdentity } from './wire/google-identity.ts'
import type { CloudIdentity } from './wire/google-identity.ts'
import { openReranker } from './wire/rerankers.ts'
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

/** Clients choose the rerankers of their queries, so the count of those that are kept is bounded. */
const RERANKERS_KEPT_MAX = 64

/** The providers of one node. */
export class Providers implements AsyncDisposable {
  readonly embedders: EmbedderPool
  readonly queryVectors: QueryVectors
  /** Generators and chunkers belong to indexes, and close with the last one that uses them. */
  readonly generators: ModelPool<GeneratorConfig, Generator>
  readonly chunkers: ModelPool<ChunkerConfig, Chunker>
  readonly rerankers: ModelPool<RerankerConfig, Reranker>
  /** See `ProviderSurroundings`. */
  readonly seal: KeySeal | undefined
  /** What a model is opened with. */
  readonly wire: WireParts
  readonly #http: ProviderHttp

  constructor({
    clock,
    isPublic,
    timeouts = TIMEOUTS_DEFAULT,
    identity,
    ...around
  }: ProvidersParts) {
    this.seal = around.seal
    this.#http = new ProviderHttp({ clock, isPublic, env: around.env })
    const wire = {
      access: new ProviderAccess(around),
      caller: new ProviderCaller(this.#http, clock),
      identity: identity ?? new GoogleIdentity(clock),
      bedrock: new BedrockClients(),
      timeouts,
    }
    this.wire = wire
    this.embedders = new EmbedderPool((config) => openEmbedder(config, wire, clock))
    this.generators = new ModelPool((config) => openGenerator(config, wire, clock), 0)
    this.chunkers = new ModelPool((config) => openChunker(config, wire, clock), 0)
    this.rerankers = new ModelPool(
      (config) => openReranker(config, wire, clock),
      RERANKERS_KEPT_MAX,
    )
    this.queryVectors = new QueryVectors(clock)
  }

  /** Ends all calls, and closes idle connections. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const pool of [this.embedders, this.generators, this.chunkers, this.rerankers]) {
      await pool[Symbol.asyncDispose]()
    }
    this.wire.bedrock[Symbol.dispose]()
    this.#http[Symbol.dispose]()
  }
}
