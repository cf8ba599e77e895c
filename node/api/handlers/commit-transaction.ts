import { readCommit } from '../../document/batch-body.ts'
import { shownKey } from '../../document/document-limits.ts'
import type { CommitConflict } from '../../transactions/writes/request-writer.ts'
import { statusByErrorCode } from '../../../lib/http/error-status.ts'
import type { ErrorBody } from '../../../lib/http/error-translator.ts'
import { limitsOf, parsed, writeOptionsOf } from '../operation.ts'
import type { Handler } from '../operation.ts'
import { jsonReply } from '../../../lib/http/reply.ts'
import { jsonValueReply } from '../sliced-reply.ts'
import { checkTableName } from '../table-name.ts'

export const commitTransaction: Handler = async (request, context) => {
  const reading = readCommit(request.body, limitsOf(request))
  const { readSet, writes, syncLevel } = await parsed(request, context, reading)
  for (const [i, { table }] of readSet.entries()) checkTableName(table, `read_set[${i}].table`)
  for (const { table } of writes) checkTableName(table, 'tables:')
  const options = await writeOptionsOf(request, context, syncLevel)

  const result = await context.service.commit(readSet, writes, options)

  if (result.status === 'committed') return jsonValueReply(result, context.clock)
  const body = { ...result, ...errorBodyOf(result.conflict) }
  return jsonReply(statusByErrorCode[body.code], body)
}

/** So that a client which knows only the common shape of errors understands a conflict as well. */
function errorBodyOf({ table, key, message }: CommitConflict): ErrorBody {
  return { error: `key ${shownKey(key)} of table "${table}": ${message}`, code: 'CONFLICT' }
}
