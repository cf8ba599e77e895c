// The cloud model service by its official client, which signs requests and finds the node's identity. It is loaded
// with the first call that needs it. Its requests go through ProviderHttp, so that rules of addresses, bounded
// answers and time limits hold for them as well.

import { Readable } from 'node:stream'
import type * as bedrock from '@aws-sdk/client-bedrock-runtime'
import type { ProviderAccess, ResolvedEndpoint } from '../access/provider-access.ts'
import type { BedrockPlace } from '../config/provider-config.ts'
import { isProviderError, refused, unavailable } from '../contract/provider-error.ts'
import type { ProviderCaller } from '../http/provider-call.ts'

/** The official client's module. */
export type BedrockModule = typeof bedrock

/** One use of the client. */
export interface BedrockCall<Answer> {
  /** For messages. */
  readonly name: string
  readonly signal: AbortSignal
  /** Sends one command of the module. `options` end it with the signal. */
  readonly send: (
    client: bedrock.BedrockRuntimeClient,
    sdk: BedrockModule,
    options: { readonly abortSignal: AbortSignal },
  ) => Promise<Answer>
}

/** Larger than 32 vectors of 1,024 decimals, and than any text. */
const ANSWER_BYTES_MAX = 2 * 1024 * 1024

/** What every call goes through. */
export interface BedrockParts {
  readonly access: ProviderAccess
  readonly caller: ProviderCaller
  readonly timeouts: { readonly generateMs: number }
}

/** Clients keep what they know of the node's identity, so each region and URL has one. */
export class BedrockClients implements Disposable {
  readonly #clients = new Map<string, bedrock.BedrockRuntimeClient>()

  /** Runs one call. Every failure but the signal's reason is a ProviderError. */
  async run<Answer>(
    parts: BedrockParts,
    config: BedrockPlace,
    { name, signal, send }: BedrockCall<Answer>,
  ): Promise<Answer> {
    const { access } = parts
    const texts = access.texts()
    const region =
      (await access.placeName(config.region, { name, kind: 'region', texts })) ??
      access.variable('AWS_REGION') ??
      access.variable('AWS_DEFAULT_REGION')
    if (region === undefined) {
      throw refused(`${name}: region is required; write it, or set AWS_REGION`)
    }
    const endpoint = await access.endpoint({
      name,
      provider: 'bedrock',
      config: { url: config.url, apiKey: undefined },
      ownUrl: `https://bedrock-runtime.${region}.amazonaws.com`,
      texts,
    })
    // A signature shows no key, but with it goes the token of a session.
    if (!endpoint.maySendSecrets) {
      throw refused(
        `${name}: url: the node's identity is shown only to the platform; name the host in the node's provider hosts`,
      )
    }
    const sdk = await import('@aws-sdk/client-bedrock-runtime')
    const key = `${region} ${endpoint.addresses} ${endpoint.url}`
    const client = this.#clients.get(key) ?? openClient(parts, { region, endpoint, sdk })
    this.#clients.set(key, client)
    try {
      return await send(client, sdk, { abortSignal: signal })
    } catch (error) {
      signal.throwIfAborted()
      throw failureOf(error, name)
    }
  }

  [Symbol.dispose](): void {
    for (const client of this.#clients.values()) client.destroy()
    this.#clients.clear()
  }
}

interface ClientParts {
  readonly region: string
  readonly endpoint: ResolvedEndpoint
  readonly sdk: BedrockModule
}

function openClient(
  { caller, timeouts }: BedrockParts,
  { region, endpoint, sdk }: ClientParts,
): bedrock.BedrockRuntimeClient {
  const { addresses, url } = endpoint
  const handle = async (request: SignedRequest, { abortSignal }: HandleOptions) => {
    const answer = await caller.send('bedrock', endpoint, {
      method: request.method === 'GET' ? 'GET' : 'POST',
      url: urlOf(request),
      headers: request.headers,
      body: request.body ?? '',
      addresses,
      answerBytesMax: ANSWER_BYTES_MAX,
      timeoutMs: timeouts.generateMs,
      signal: abortSignal ?? new AbortController().signal,
    })
    const headers = Object.entries(answer.headers).map(([name, value]) => [name, String(value)])
    return {
      response: {
        statusCode: answer.status,
        headers: Object.fromEntries(headers),
        body: Readable.from([answer.body]),
      },
    }
  }
  const requestHandler = {
    handle,
    updateHttpClientConfig() {}, // the handler has no settings
    httpHandlerConfigs: () => ({}),
  }
  // The caller retries. A failed call of the service is thrown by the handler, as a ProviderError.
  return new sdk.BedrockRuntimeClient({ region, endpoint: url, maxAttempts: 1, requestHandler })
}

/** What the official client hands to its handler. */
interface SignedRequest {
  readonly method: string
  readonly protocol: string
  readonly hostname: string
  readonly port?: number
  readonly path: string
  readonly query?: Readonly<Record<string, string | readonly string[] | null>>
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

interface HandleOptions {
  readonly abortSignal?: AbortSignal
}

/** The path is encoded already. Operations that are used here have no query. */
function urlOf({ protocol, hostname, port, path }: SignedRequest): string {
  return `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}`
}

/** Other errors come from the client itself: mostly it found no credentials. Their messages may quote some. */
function failureOf(error: unknown, name: string): Error {
  if (isProviderError(error)) return error
  const kind = error instanceof Error ? error.name : 'unknown error'
  if (kind === 'CredentialsProviderError') {
    return unavailable(
      `${name}: the node has no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run it where the platform gives it an identity`,
    )
  }
  return unavailable(`${name}: the official client failed (${kind})`)
}
