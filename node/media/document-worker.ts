// The entry of the process that reads documents of strangers: parsers of PDF and HTML work in one go, for
// as long as a document makes them, and draw with native code; images are decoded by native code alone.

import { constants, setPriority } from 'node:os'
import { unreachable } from '../../lib/assert.ts'
import { messageOf } from '../../lib/errors.ts'
import type { DocumentJob, DocumentReading } from './document-protocol.ts'
import { fitImage } from './fit-image.ts'
import { readHtml } from './read-html.ts'
import { readPdf } from './read-pdf.ts'

const REASON_CHARS_MAX = 200

// Searches and writes of the node come first.
setPriority(constants.priority.PRIORITY_BELOW_NORMAL)

let job: DocumentJob | undefined
let bytes = Buffer.alloc(0)
let filled = 0

process.on('message', (next: DocumentJob) => {
  job = next
  bytes = Buffer.allocUnsafeSlow(next.length)
  filled = 0
  if (!answerIfWhole()) process.stdin.resume()
})
process.on('disconnect', () => process.exit())
process.stdin.on('data', (chunk: Buffer) => {
  filled += chunk.copy(bytes, filled)
  // The next job and its bytes come on two channels: bytes may be here before their job.
  if (answerIfWhole()) process.stdin.pause()
})
process.stdin.pause()

function answerIfWhole(): boolean {
  if (job === undefined || filled < job.length) return false
  const [read, content] = [job, bytes]
  job = undefined
  void answer(read, content)
  return true
}

async function answer(read: DocumentJob, content: Buffer): Promise<void> {
  process.send?.(await readingOf(read, content))
}

async function readingOf(read: DocumentJob, content: Buffer): Promise<DocumentReading> {
  try {
    switch (read.kind) {
      case 'pdf':
        return await readPdf(new Uint8Array(content.buffer, 0, content.length), read)
      case 'html':
        return readHtml(content, read)
      case 'image':
        return await fitImage(content, read)
      default:
        return unreachable(read)
    }
  } catch (error) {
    return { kind: 'refused', why: messageOf(error).slice(0, REASON_CHARS_MAX) }
  }
}
