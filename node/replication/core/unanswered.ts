import type { ReplicaId } from './configuration.ts'
import type { AppendMessage, PingMessage } from './messages.ts'

/** What a leader has sent, without entries: those come again when it hears where this replica is. */
export interface Unanswered {
  readonly from: ReplicaId
  readonly message: AppendMessage | PingMessage
}

export function withoutEntries(message: AppendMessage | PingMessage): Unanswered['message'] {
  return message.kind === 'append' ? { ...message, entries: [] } : message
}
