// The text of a manifest: JSON in a line, and its CRC-32 in another, as eight hexadecimal digits
// (docs/reference/formats/text-segment.md, vector-segment.md).

import { isDeepStrictEqual } from 'node:util'
import { crc32 } from 'node:zlib'
import {
  corruptionOf,
  type ListedSegment,
  type Manifest,
  type SegmentFormat,
} from './segment-format.ts'

const FORMAT_VERSION = 1

export function printManifest<Listed extends ListedSegment>(
  { head }: SegmentFormat<Listed>,
  { checkpoint, nextId, segments }: Manifest<Listed>,
): string {
  const body = JSON.stringify({ version: FORMAT_VERSION, ...head, checkpoint, nextId, segments })
  return `${body}\n${sumText(body)}\n`
}

/** CORRUPTION if it is not what was printed, or is of an index with another head. */
export function parseManifest<Listed extends ListedSegment>(
  { head, noun }: SegmentFormat<Listed>,
  text: string,
): Manifest<Listed> {
  const match = /^(?<body>.*)\n(?<sum>[0-9a-f]{8})\n$/.exec(text)
  const body = match?.groups?.['body'] ?? ''
  if (match?.groups?.['sum'] !== sumText(body)) throw corruptionOf(noun, 'manifest is damaged')
  // The sum says that it is what we wrote.
  const manifest: Manifest<Listed> & { readonly version: number } = JSON.parse(body)
  const { version } = manifest
  if (version !== FORMAT_VERSION) throw corruptionOf(noun, `manifest has version ${version}`)
  for (const [name, value] of Object.entries(head)) {
    if (isDeepStrictEqual(Reflect.get(manifest, name), value)) continue
    throw corruptionOf(noun, `manifest is of an index with other ${name}`)
  }
  return manifest
}

function sumText(body: string): string {
  return crc32(body).toString(16).padStart(8, '0')
}
