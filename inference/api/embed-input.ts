// The three forms of `input`: a text, a list of texts, a list of content parts.

import { ServiceError } from '../../lib/errors.ts'
import { isJsonRecord } from '../../lib/json-record.ts'
import type { EmbedPart } from '../pipelines/embed/embed-service.ts'

export const INVALID_INPUT =
  'invalid input: input must be a string, an array of strings, or an array of content parts'

/** Parses one or more parts, and refuses an empty one. */
export function parseEmbedInput(input: unknown): EmbedPart[] {
  const list: readonly unknown[] = Array.isArray(input) ? input : [input]
  if (list.length === 0) throw invalid(INVALID_INPUT)
  const isTexts = list.every((each) => typeof each === 'string')
  const isParts = Array.isArray(input) && list.every(isJsonRecord)
  if (!isTexts && !isParts) throw invalid(INVALID_INPUT)
  return list.map((each, index) =>
    parsePart(each, Array.isArray(input) ? `input[${index}]` : 'input'),
  )
}

/** As OpenAI clients send it: texts, or the ids of the tokens of one text or of several. */
export function parseOpenaiInput(input: unknown): EmbedPart[] {
  if (isIds(input)) return [{ kind: 'tokens', ids: input }]
  if (!Array.isArray(input) || input.length === 0) return parseEmbedInput(input)
  const lists: readonly unknown[] = input
  const tokens = lists.filter(isIds).map((ids): EmbedPart => ({ kind: 'tokens', ids }))
  return tokens.length === lists.length ? tokens : parseEmbedInput(input)
}

function isIds(list: unknown): list is readonly number[] {
  return Array.isArray(list) && list.length > 0 && list.every((id) => Number.isInteger(id))
}

function parsePart(part: unknown, place: string): EmbedPart {
  if (typeof part === 'string') return textPart(part, place)
  if (!isJsonRecord(part)) throw invalid(INVALID_INPUT)
  const { type, text, image_url: image } = part
  if (type === 'text' && typeof text === 'string') return textPart(text, `${place}.text`)
  if (type === 'text') throw invalid(`${place}.text is required`)
  const url = isJsonRecord(image) ? image['url'] : undefined
  if (typeof url !== 'string') throw invalid(`${place}.image_url.url is required`)
  return { kind: 'image', url }
}

function textPart(text: string, place: string): EmbedPart {
  if (text === '') throw invalid(`${place} is empty; send some text`)
  return { kind: 'text', text }
}

function invalid(message: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', message)
}
