import { isJsonRecord } from '../../lib/json-record.ts'
import type { Contract } from '../../openapi/contract.ts'
import {
  buildRequestValidator,
  problemSentence,
  type ContractProblem,
  type RequestValidator,
} from '../../openapi/request-validator.ts'

/**
 * Operations whose bodies hold documents or queries. Their parsers walk the bytes, check all that the
 * contract says about them, and keep every digit; a second walk here would check less and cost
 * more. test/contract/body-parsers.test.ts holds the parsers to the contract.
 */
export const BYTE_PARSED_OPERATIONS: ReadonlySet<string> = new Set([
  'batchWrite',
  'crossTableBatch',
  'commitTransaction',
  'mergeTable',
  'queryGlobal',
  'queryTable',
])

export function buildStoreValidator({ document }: Contract): RequestValidator {
  return buildRequestValidator(withoutClauses(withoutByteParsedBodies(document)), problemText)
}

/**
 * The parser of the query language says exactly what is wrong with a clause and where. The two dozen
 * forms that the contract offers would be tried one after the other, and each would complain.
 */
function withoutClauses(document: Contract['document']): Contract['document'] {
  const { schemas, ...components } = document.components
  const open = { ...schemas, DocumentFilter: { type: 'object' } }
  return { ...document, components: { ...components, schemas: open } }
}

function withoutByteParsedBodies({ paths, ...rest }: Contract['document']): Contract['document'] {
  const entries = Object.entries(paths).map(([template, item]) => {
    const members = Object.entries(item).map(([name, member]) => [name, withoutBody(member)])
    return [template, Object.fromEntries(members)]
  })
  return { ...rest, paths: Object.fromEntries(entries) }
}

function withoutBody(member: unknown): unknown {
  if (!isJsonRecord(member)) return member
  const { requestBody: _, ...rest } = member
  return BYTE_PARSED_OPERATIONS.has(String(member['operationId'])) ? rest : member
}

function problemText(problem: ContractProblem): string {
  const { place, field, text } = problem
  if (text === 'must NOT have additional properties') {
    return `unknown field "${field}"; the contract at /api/v1/docs lists the known ones`
  }
  if (place === 'query' && text.startsWith('Unknown query parameter')) {
    return `unknown query parameter "${field}"; the contract at /api/v1/docs lists the known ones`
  }
  if (text.startsWith('Empty value')) return `${field} is empty; give it a value or leave it out`
  return problemSentence(problem)
}
