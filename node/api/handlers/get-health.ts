import { textReply } from '../../../lib/http/reply.ts'
import type { Handler } from '../operation.ts'

const OK = textReply(200, 'ok')

export const getHealth: Handler = () => OK
