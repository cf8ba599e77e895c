import { bytesReply } from '../../../lib/http/reply.ts'
import type { Handler } from '../../../door/operation.ts'
import type { ApiContext } from '../operation.ts'

export const getContract: Handler<Pick<ApiContext, 'contract'>> = (_request, { contract }) =>
  bytesReply(200, contract.text, ['Content-Type', 'application/yaml; charset=utf-8'])
