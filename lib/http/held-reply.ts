// Whole answers that are too large to be forgotten once they are handed to the socket: a client that
// does not read leaves them in our memory.

import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { HeldMemory } from './request-memory.ts'
import { sendBytes } from './reply.ts'
import type { BytesReply } from './reply.ts'

/** Shorter answers fit into the buffers of a connection, which no budget counts. */
const LARGE_REPLY_BYTES_MIN = 64 * 1024

/**
 * What bounds an answer that leaves slowly: the memory that it holds, and the patience with its
 * client.
 */
export interface HeldReplyOptions {
  /** Charged with the answer until it has left. */
  readonly memory: HeldMemory
  /** The server disconnects a client that has taken nothing for this time. */
  readonly writeTimeoutMs: number
}

export function isLarge({ body }: BytesReply): boolean {
  return body.length >= LARGE_REPLY_BYTES_MIN
}

/** Resolves when the answer has left or the client has gone. Rejects with OVERLOADED, nothing sent. */
export async function sendHeld(
  response: ServerResponse,
  reply: BytesReply,
  { memory, writeTimeoutMs }: HeldReplyOptions,
): Promise<void> {
  memory.add(reply.body.length)
  if (response.destroyed) return
  response.setTimeout(writeTimeoutMs, () => {
    if (response.writableLength > 0) response.destroy()
  })
  const gone = once(response, 'close')
  sendBytes(response, reply)
  await gone
}
