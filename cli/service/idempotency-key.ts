import { randomUUID } from 'node:crypto'

/** A new key, which no other request of any process has. */
export function newIdempotencyKey(): string {
  return randomUUID()
}
