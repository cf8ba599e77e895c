import type { ReplicaId } from './configuration.ts'
import type { AppendMessage, PingMessage } from './messages.ts'

/** What a leader has sent, without the entries: it sends them again when it knows how far this replica is. */
export interface Unanswered {
  readonly from: ReplicaId
  readonly message: AppendMessage | PingMessage
}

export function withoutEntries(message: AppendMessage | PingMessage): Unanswered['message'] {
  return message.kind === 'append' ? { ...message, entries: [] } : message
}
