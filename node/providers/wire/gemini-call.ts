import { PROVIDERS } from '../config/provider-table.ts'
import { endpointOf, keyOf, nameOf } from './wire-parts.ts'
import type { HttpModel, WireParts } from './wire-parts.ts'

/** One call of a method of a model of the Gemini API. */
export interface GeminiRequest {
  readonly method: 'batchEmbedContents' | 'generateContent'
  readonly body: unknown
  readonly answerBytesMax: number
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** The key goes into a header: URLs are logged by many. */
export async function geminiCall(
  parts: WireParts,
  config: HttpModel,
  { method, ...request }: GeminiRequest,
): Promise<unknown> {
  const name = nameOf(config)
  const endpoint = await endpointOf(parts, config)
  const { keyVariable = '' } = PROVIDERS.gemini
  const model = encodeURIComponent(config.model.replace(/^models\//, ''))
  return parts.caller.callForJson({
    name,
    endpoint,
    path: `/v1beta/models/${model}:${method}`,
    headers: { 'x-goog-api-key': keyOf(endpoint, name, keyVariable) },
    ...request,
  })
}
