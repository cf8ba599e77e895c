import type {
  EndpointQuestion,
  ProviderAccess,
  ResolvedEndpoint,
} from '../access/provider-access.ts'
import type { EndpointConfig } from '../config/provider-config.ts'
import type { ProviderName } from '../config/provider-table.ts'
import type { ProviderCaller } from '../http/provider-call.ts'
import { refused } from '../contract/provider-error.ts'
import type { BedrockClients } from './bedrock-client.ts'
import type { CloudIdentity } from './google-identity.ts'

/** What every protocol works with. */
export interface WireParts {
  readonly access: ProviderAccess
  readonly caller: ProviderCaller
  /** The node's identity at the cloud AI platform. */
  readonly identity: CloudIdentity
  readonly bedrock: BedrockClients
  readonly timeouts: ProviderTimeouts
}

/** How long one request may take, its answer included. */
export interface ProviderTimeouts {
  readonly embedMs: number
  readonly generateMs: number
  readonly rerankMs: number
  readonly chunkMs: number
}

export const TIMEOUTS_DEFAULT: ProviderTimeouts = {
  embedMs: 60_000,
  generateMs: 120_000,
  rerankMs: 30_000,
  chunkMs: 30_000,
}

/** Answers that hold no vectors. */
export const TEXT_ANSWER_BYTES_MAX = 1024 * 1024

/** A configured model of a provider that is reached by its URL. */
export type HttpModel = EndpointConfig & { readonly provider: ProviderName; readonly model: string }

/** For messages. */
export function nameOf({ provider, model }: Pick<HttpModel, 'provider' | 'model'>): string {
  return `${provider} ${model}`
}

export function endpointOf(
  { access }: Pick<WireParts, 'access'>,
  config: HttpModel,
  asker: EndpointQuestion['asker'] = 'index',
): Promise<ResolvedEndpoint> {
  return access.endpoint({ name: nameOf(config), provider: config.provider, config, asker })
}

/** The key of a provider that answers nobody without one. */
export function keyOf(endpoint: ResolvedEndpoint, name: string, keyVariable: string): string {
  if (endpoint.apiKey !== undefined) return endpoint.apiKey
  throw refused(
    `${name}: api_key is required; write it, \${secret:name} or \${VARIABLE}, or set ${keyVariable}`,
  )
}

export function bearer({ apiKey }: ResolvedEndpoint): Readonly<Record<string, string>> {
  return apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }
}
