// POST {url}/api/embed of Quarry's inference server, with vectors in bytes:
// u64 count, u64 dimension, then count * dimension f32, all little-endian; eight bytes of zeros for none.

import type { QuarryEmbedderConfig } from '../config/provider-config.ts'
import type { EmbedItem, EmbedProtocol } from '../embedding/embed-protocol.ts'
import type { EmbedPart } from '../contract/provider.ts'
import { unavailable } from '../contract/provider-error.ts'
import { floatsOf } from './answer-reader.ts'
import { joinedParts, meanDirection, textOf } from './item-texts.ts'
import { endpointOf, nameOf } from './wire-parts.ts'
import type { WireParts } from './wire-parts.ts'

/** The server takes 2,048 inputs and 32 MiB; smaller requests share its workers better. */
const LIMITS = { itemsMax: 256, bytesMax: 1024 * 1024 }
const HEADER_BYTES = 16
const FLOAT_BYTES = 4

export function quarryEmbedding(parts: WireParts, config: QuarryEmbedderConfig): EmbedProtocol {
  const name = nameOf(config)
  const { model, multimodal } = config
  return {
    name,
    acceptsImages: multimodal,
    limits: LIMITS,
    form: 'binary',
    dimension: undefined,
    request: async (items, { signal, answerBytesMax }) => {
      const { input, counts } = inputsOf(items)
      const { body } = await parts.caller.call({
        name,
        endpoint: await endpointOf(parts, config),
        path: '/api/embed',
        headers: { accept: 'application/octet-stream' },
        body: { model, input, truncate: true },
        answerBytesMax,
        timeoutMs: parts.timeouts.embedMs,
        signal,
      })
      const rows = readRows(body, { name, count: input.length })
      return { vectors: itemVectors(rows, counts), form: 'binary' }
    },
  }
}

interface Inputs {
  readonly input: readonly unknown[]
  /** How many inputs each item has. */
  readonly counts: readonly number[]
}

/** Texts alone are plain texts, which models without images take as well. */
function inputsOf(items: readonly EmbedItem[]): Inputs {
  const hasImages = items.some((item) => item.some(({ kind }) => kind === 'image'))
  if (!hasImages) return { input: items.map(textOf), counts: items.map(() => 1) }
  const parts = items.map(joinedParts)
  return {
    input: parts.flatMap((each) => each.map(contentPart)),
    counts: parts.map((each) => each.length),
  }
}

function contentPart(part: EmbedPart): unknown {
  if (part.kind === 'text') return { type: 'text', text: part.text }
  return { type: 'image_url', image_url: { url: part.dataUri } }
}

function readRows(
  body: Buffer,
  { name, count }: { readonly name: string; readonly count: number },
): readonly Float32Array[] {
  const hasHeader = body.length >= HEADER_BYTES
  const rows = hasHeader ? Number(body.readBigUInt64LE(0)) : 0
  const dimension = hasHeader ? Number(body.readBigUInt64LE(HEADER_BYTES / 2)) : 0
  const isWhole = body.length === HEADER_BYTES + rows * dimension * FLOAT_BYTES
  if (!isWhole || rows !== count) {
    throw unavailable(`${name}: it answered ${body.length} bytes, which are not ${count} vectors`)
  }
  const rowBytes = dimension * FLOAT_BYTES
  return Array.from({ length: rows }, (_, row) => {
    const start = HEADER_BYTES + row * rowBytes
    return floatsOf(body.subarray(start, start + rowBytes))
  })
}

function itemVectors(
  rows: readonly Float32Array[],
  counts: readonly number[],
): readonly Float32Array[] {
  let from = 0
  return counts.map((count) => {
    from += count
    return meanDirection(rows.slice(from - count, from))
  })
}
