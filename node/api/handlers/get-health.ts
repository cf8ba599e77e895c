import { textReply } from '../../../lib/http/reply.ts'
import type { Handler } from '../../../door/operation.ts'

const OK = textReply(200, 'ok')

export const getHealth: Handler<object> = () => OK
