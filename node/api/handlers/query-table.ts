import { tableOf } from '../operation.ts'
import type { Handler } from '../operation.ts'
import { answerQueries } from '../query-replies.ts'

export const queryTable: Handler = (request, { service }) =>
  answerQueries(request, service, tableOf(request))
