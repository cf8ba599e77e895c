// The API server's record of who asked for what (test/e2e/kube/audit-policy.yaml): the proof that a quiet operator writes
// nothing, that it reads no secret beyond those it must, and in which order it wrote.

import { open, stat } from 'node:fs/promises'

export interface AuditEvent {
  readonly verb: string
  readonly user: { readonly username: string }
  readonly impersonatedUser?: { readonly username: string }
  readonly userAgent?: string
  readonly objectRef?: {
    readonly apiGroup?: string
    readonly resource: string
    readonly subresource?: string
    readonly namespace?: string
    readonly name?: string
  }
  readonly responseStatus?: { readonly code: number }
  readonly requestReceivedTimestamp: string
}

const WRITES: ReadonlySet<string> = new Set([
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
])

/**
 * The record from a moment on.
 *
 * Contract:
 * - `mark` is the end of the record now; what is asked after it is behind the mark.
 * - `since` has the requests that were answered behind the mark, in the order of their answers.
 * - A record that lost what was behind the mark fails the reader.
 */
export class AuditLog {
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  async mark(): Promise<number> {
    return (await stat(this.#file)).size
  }

  async since(mark: number): Promise<readonly AuditEvent[]> {
    await using file = await open(this.#file)
    const { size } = await file.stat()
    if (size < mark) throw new Error(`${this.#file} was begun anew behind the mark`)
    const { buffer } = await file.read(Buffer.alloc(size - mark), 0, size - mark, mark)
    // The last line may be half written.
    const lines = buffer.toString('utf8').split('\n').slice(0, -1)
    return lines.map((line): AuditEvent => JSON.parse(line))
  }
}

/** Whether a request changes an object. Renewing a Lease is how a leader says that it lives, and is none. */
export function isWrite({ verb, objectRef }: AuditEvent): boolean {
  return WRITES.has(verb) && objectRef?.resource !== 'leases'
}

export function isBy(event: AuditEvent, username: string): boolean {
  return (event.impersonatedUser ?? event.user).username === username
}

/** As `kubectl auth` words it, for messages: `patch apps/statefulsets/scale ns/name`. */
export function describeEvent({ verb, objectRef }: AuditEvent): string {
  if (objectRef === undefined) return verb
  const kind = joined([objectRef.apiGroup, objectRef.resource, objectRef.subresource])
  return `${verb} ${kind} ${joined([objectRef.namespace, objectRef.name])}`.trimEnd()
}

function joined(parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== '').join('/')
}
