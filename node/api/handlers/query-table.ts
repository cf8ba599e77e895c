import { tableOf } from '../operation.ts'
import type { Handler } from '../operation.ts'
import { answerQueries } from '../query-replies.ts'

export const queryTable: Handler = (request, context) =>
  answerQueries(request, context, tableOf(request))
