// The texts of an artifact: JSON behind its rows. Described in docs/reference/formats/artifact.md.

import { corrupt } from './artifact-rows.ts'

/** Texts kept beside vectors. */
export interface ArtifactTexts {
  /** The text of each row, where the index stores chunks. */
  readonly chunks?: readonly string[]
  /** What a summarizer made of the document's media. */
  readonly summary?: string
  /** Why embedding failed. */
  readonly error?: string
}

export const FLAG_TEXTS = 1

const NO_TEXTS = Buffer.alloc(0)
const DECODER = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** No bytes where there are no texts. */
export function encodeTexts(texts: ArtifactTexts | undefined): Buffer {
  return texts === undefined ? NO_TEXTS : Buffer.from(JSON.stringify(texts))
}

/** `flags` are those of the artifact. CORRUPTION for bytes that `encodeTexts` cannot have made. */
export function decodeTexts(bytes: Uint8Array, flags: number): ArtifactTexts | undefined {
  const isExpected = (flags & FLAG_TEXTS) !== 0
  if ((flags & ~FLAG_TEXTS) !== 0 || isExpected !== bytes.length > 0) {
    throw corrupt(`flags ${flags} with ${bytes.length} bytes of texts`)
  }
  return isExpected ? parseTexts(bytes) : undefined
}

function parseTexts(bytes: Uint8Array): ArtifactTexts {
  const value = parseJson(bytes)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw corrupt('its texts are no object')
  }
  const members: Readonly<Record<string, unknown>> = { ...value }
  const { chunks, summary, error, ...rest } = members
  const [unknown] = Object.keys(rest)
  if (unknown !== undefined) throw corrupt(`unknown text "${unknown.slice(0, 64)}"`)
  return {
    ...(chunks === undefined ? {} : { chunks: stringsOf(chunks) }),
    ...(summary === undefined ? {} : { summary: stringOf(summary) }),
    ...(error === undefined ? {} : { error: stringOf(error) }),
  }
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(DECODER.decode(bytes))
  } catch (cause) {
    throw corrupt('its texts are not JSON', cause)
  }
}

function stringsOf(value: unknown): readonly string[] {
  if (!Array.isArray(value)) throw corrupt('its chunks are no list')
  return value.map((item) => stringOf(item))
}

function stringOf(value: unknown): string {
  if (typeof value !== 'string') throw corrupt('one of its texts is no string')
  return value
}
