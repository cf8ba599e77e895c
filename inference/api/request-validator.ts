import type { Contract } from '../../openapi/contract.ts'
import {
  buildRequestValidator,
  problemSentence,
  type ContractProblem,
  type RequestValidator,
} from '../../openapi/request-validator.ts'

export const INVALID_INPUT =
  'invalid input: input must be a string, an array of strings, or an array of content parts'
const OF_INPUT = /^input(?:[.[]|$)/

export function buildInferenceValidator({ document }: Contract): RequestValidator {
  return buildRequestValidator(document, problemText)
}

const SHOWN_FIELD_LENGTH_MAX = 200

function problemText(whole: ContractProblem): string {
  const problem = { ...whole, field: whole.field.slice(0, SHOWN_FIELD_LENGTH_MAX) }
  const { place, field, text } = problem
  if (text.startsWith('must have required property')) return `${field} is required`
  // Three shapes are possible; what is wrong with the first of them would say nothing.
  if (OF_INPUT.test(field) && !text.startsWith('must NOT have more')) return INVALID_INPUT
  if (text === 'must NOT have additional properties') {
    return `unknown field "${field}"; the contract at /api/docs lists the known ones`
  }
  if (place === 'query' && text.startsWith('Unknown query parameter')) return `${text}; remove it`
  return problemSentence(problem)
}
