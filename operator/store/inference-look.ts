// What the inference servers beside nodes say of themselves on their health ports. Kubernetes knows only that their
// containers run: a probe of theirs would take the node out of its Services.

import { isJsonRecord, isListOf, isText, parseJsonRecord } from '../../lib/json-record.ts'
import type { JsonRecord } from '../../lib/json-record.ts'
import type { InferenceAnswer } from '../machines/observed/kubernetes-view.ts'

const LOOK_TIMEOUT_MS = 2000
/** The list of models takes a few of them. */
const BODY_BYTES_MAX = 256 * 1024
/** People read no longer messages than 500 characters. */
const MESSAGE_LENGTH_MAX = 500

/** Asks the server at each URL; answers by the same keys. Never rejects. */
export async function lookAtInference(
  urls: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, InferenceAnswer>> {
  const looks = [...urls].map(async ([key, url]) => [key, await look(url)] as const)
  return new Map(await Promise.all(looks))
}

async function look(url: string): Promise<InferenceAnswer> {
  try {
    const signal = AbortSignal.timeout(LOOK_TIMEOUT_MS)
    const answer = await fetch(new URL('/readyz', url), { signal })
    const body = parseJsonRecord(await startOf(answer))
    if (answer.ok) return { state: 'Ready' }
    const message = failureIn(body)
    return { state: 'Loading', ...(message === undefined ? {} : { message }) }
  } catch {
    return { state: 'Silent' }
  }
}

/** A longer body is cut, and cannot be parsed. */
async function startOf({ body }: Response): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body ?? []) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > BODY_BYTES_MAX) break
  }
  return Buffer.concat(chunks).subarray(0, BODY_BYTES_MAX)
}

/** Why the first model that could not be loaded was not. */
function failureIn(body: JsonRecord | undefined): string | undefined {
  const models = body?.['preload']
  if (!isListOf(models, isJsonRecord)) return undefined
  const failed = models.find(({ state }) => state === 'failed')
  if (failed === undefined) return undefined
  const { model, reason } = failed
  const text = `${isText(model) ? model : 'a model'}: ${isText(reason) ? reason : 'not loaded'}`
  return text.length <= MESSAGE_LENGTH_MAX ? text : `${text.slice(0, MESSAGE_LENGTH_MAX - 1)}…`
}
