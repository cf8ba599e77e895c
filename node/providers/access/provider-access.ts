// The way to a provider for one call: its URL, its key, and what must not be shown of them.

import type { Env } from '../../../lib/env.ts'
import { isServiceError, messageOf } from '../../../lib/errors.ts'
import { checkUrlText, isPlaceName } from '../config/parse-common.ts'
import type { EndpointConfig } from '../config/provider-config.ts'
import { PROVIDERS } from '../config/provider-table.ts'
import type { ProviderName } from '../config/provider-table.ts'
import { refused, unavailable } from '../contract/provider-error.ts'
import { hasReferences, parseReferences } from '../config/references.ts'
import { ResolvedTexts } from './resolved-texts.ts'
import type { KeySeal } from './key-seal.ts'
import type { SecretSource } from './secret-source.ts'
import { permitOf } from './url-rules.ts'
import type { AddressRule, UrlOrigin, UrlPermit, UrlRules } from './url-rules.ts'
import type { VariableGrant } from './variable-grants.ts'

/** The surroundings of a node, as far as providers see them. */
export interface ProviderSurroundings {
  readonly env: Env
  readonly secrets: SecretSource
  readonly rules: UrlRules
  /** The variables to which configurations may refer. Absent: only each provider's own. */
  readonly variables?: readonly VariableGrant[]
  /** What seals keys that are written into configurations of indexes. Absent: nothing, they are kept as written. */
  readonly seal?: KeySeal
  /** Where the node's own inference server answers. Absent: at the default of the provider `quarry`. */
  readonly ownInference?: OwnInferenceUrl
}

/** Starts the server if that is needed. Rejects with UNAVAILABLE if it does not start. */
export type OwnInferenceUrl = () => Promise<string>

/** Where one call goes. */
export interface ResolvedEndpoint {
  /** Without a slash at its end. */
  readonly url: string
  readonly addresses: AddressRule
  readonly apiKey: string | undefined
  /** Whether what identifies the node may be sent there (UR2). */
  readonly maySendSecrets: boolean
  /** Whether errors may say what was answered (UR4). */
  readonly mayBeQuoted: boolean
  /** Must be applied to every message about the call. */
  readonly redact: (message: string) => string
}

/** The one who asks, for messages, and its URL if its location decides. */
export interface EndpointQuestion {
  readonly name: string
  readonly provider: ProviderName
  readonly config: EndpointConfig
  /** The provider's own URL, if the table has none. */
  readonly ownUrl?: string
  /** What holds the configuration: an index, or a query, whose client chooses no hosts. Absent: an index. */
  readonly asker?: 'index' | 'query'
  /** What else was resolved for the call, so that messages show nothing of it either. Absent: nothing. */
  readonly texts?: ResolvedTexts
}

/** A name of a place in a cloud, as configured. */
export interface PlaceQuestion {
  readonly name: string
  readonly kind: 'project_id' | 'location' | 'region'
  readonly texts: ResolvedTexts
}

/** Resolves configurations at each use. */
export class ProviderAccess {
  readonly #around: ProviderSurroundings

  constructor(around: ProviderSurroundings) {
    this.#around = around
  }

  /** Rejects with a ProviderError that names what cannot be resolved, or where a key must not go. */
  async endpoint(question: EndpointQuestion): Promise<ResolvedEndpoint> {
    const { name, provider, ownUrl, texts = this.texts() } = question
    const row = PROVIDERS[provider]
    try {
      const own = (await this.#ownServer(question)) ?? row.url ?? ownUrl
      const { url, origin } = await this.#urlOf(question, { own, texts })
      const permit = permitOf({ url, origin, place: row.place, own }, this.#around.rules)
      if (permit === undefined) {
        throw refused(
          `url: a query names a provider's own server, which is meant without a url, or one of the node's provider hosts; ${url.host} is none`,
        )
      }
      if (!permit.mayBePlain && url.protocol === 'http:') {
        throw refused(
          `url: ${url.host} must be reached by https:, or named in the node's provider hosts`,
        )
      }
      const apiKey = await this.#keyOf(question, { url, permit, texts })
      const { addresses, maySendSecrets, mayBeQuoted } = permit
      const redact = (message: string): string => texts.redact(message)
      const text = url.href.replace(/\/$/, '')
      return { url: text, addresses, apiKey, maySendSecrets, mayBeQuoted, redact }
    } catch (error) {
      throw named(error, name, texts)
    }
  }

  /** Resolves `project_id`, `location` or `region`. Undefined stays undefined. */
  async placeName(
    text: string | undefined,
    { name, kind, texts }: PlaceQuestion,
  ): Promise<string | undefined> {
    if (text === undefined) return undefined
    try {
      const found = await texts.resolve(text, kind)
      if (isPlaceName(kind, found)) return found
      throw refused(`${kind}: what ${text} stands for is not the form of one`)
    } catch (error) {
      throw named(error, name, texts)
    }
  }

  /** A variable of the node's environment; undefined if it is not set. */
  variable(name: string): string | undefined {
    return this.texts().variable(name)
  }

  /** Makes what resolves the texts of one call. */
  texts(): ResolvedTexts {
    return new ResolvedTexts(this.#around)
  }

  async #urlOf(
    { provider, config: { url }, asker = 'index' }: EndpointQuestion,
    { own, texts }: { readonly own: string | undefined; readonly texts: ResolvedTexts },
  ): Promise<{ readonly url: URL; readonly origin: UrlOrigin }> {
    const { urlVariable } = PROVIDERS[provider]
    const text = urlVariable === undefined ? undefined : this.variable(urlVariable)
    const operators =
      urlVariable === undefined || text === undefined
        ? undefined
        : checkUrlText(withScheme(text), urlVariable)
    if (url !== undefined) {
      const resolved = checkUrlText(await texts.resolve(url, 'url'), 'url')
      if (hasReferences(parseReferences(url, 'url'))) texts.hide(resolved.host)
      if (operators?.href === resolved.href) return { url: operators, origin: 'operator' }
      return { url: resolved, origin: asker === 'query' ? 'query' : 'configuration' }
    }
    if (operators !== undefined) return { url: operators, origin: 'operator' }
    if (own === undefined) throw refused('url is required')
    return { url: new URL(own), origin: 'default' }
  }

  /** The node's own server, if the configuration means that one. */
  async #ownServer({ provider, config }: EndpointQuestion): Promise<string | undefined> {
    const { ownInference } = this.#around
    if (ownInference === undefined || provider !== 'quarry' || config.url !== undefined) {
      return undefined
    }
    const { urlVariable } = PROVIDERS[provider]
    const isElsewhere = urlVariable !== undefined && this.variable(urlVariable) !== undefined
    return isElsewhere ? undefined : ownInference()
  }

  /**
   * The key as it is written; or the provider's own variable, where the node may send what is its own (UR2). A
   * caller whose configuration may not send a variable does not learn whether it has a value.
   */
  async #keyOf(
    { provider, config: { apiKey } }: EndpointQuestion,
    { url, permit, texts }: KeyQuestion,
  ): Promise<string | undefined> {
    const { keyVariable } = PROVIDERS[provider]
    if (apiKey === undefined) {
      if (keyVariable === undefined || !permit.maySendSecrets) return undefined
      const key = texts.variable(keyVariable)
      return key === undefined ? undefined : checkedKey(key, texts)
    }
    if (hasReferences(parseReferences(apiKey, 'api_key')) && !permit.maySendSecrets) {
      throw refused(
        `api_key: variables and secrets of the node are sent only to the provider's own host; ` +
          `name ${url.host} in the node's provider hosts, or write the key itself`,
      )
    }
    return checkedKey(await texts.resolve(apiKey, 'api_key', { url, keyVariable }), texts)
  }
}

/** Where a key would go, and what may be done there. */
interface KeyQuestion {
  readonly url: URL
  readonly permit: UrlPermit
  readonly texts: ResolvedTexts
}

function checkedKey(key: string, texts: ResolvedTexts): string {
  texts.hide(key)
  if (!KEY.test(key)) throw refused('api_key: a key has visible characters of ASCII only')
  return key
}

/** What a header can carry. */
const KEY = /^[\x21-\x7e]+$/

/** OLLAMA_HOST is often written without a scheme. */
function withScheme(text: string): string {
  return /^[a-z]+:\/\//i.test(text) ? text : `http://${text}`
}

function named(error: unknown, name: string, texts: ResolvedTexts): Error {
  const message = `${name}: ${texts.redact(messageOf(error))}`
  const isRefusal = isServiceError(error) && error.code === 'INVALID_ARGUMENT'
  return isRefusal ? refused(message) : unavailable(message)
}
