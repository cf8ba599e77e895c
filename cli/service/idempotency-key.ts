import { randomUUID } from 'node:crypto'

/** Never the same for two requests, of this process or another. */
export function newIdempotencyKey(): string {
  return randomUUID()
}
