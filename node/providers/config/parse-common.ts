// What the parsers of all tasks share.

import { ServiceError } from '../../../lib/errors.ts'
import { FieldReader } from './field-reader.ts'
import type { BedrockPlace, EndpointConfig, VertexPlace } from './provider-config.ts'
import { PROVIDERS, REQUIRED, isProviderName, providersOf } from './provider-table.ts'
import type { ProviderName, ProviderTask } from './provider-table.ts'
import { hasReferences, parseReferences } from './references.ts'

/** Reads the members of one provider's configuration of a task. */
export type FieldsParser<Config> = (fields: FieldReader, model: string) => Config

const LOCATION_DEFAULT = 'us-central1'
/** The form of a region's name, which becomes a part of a host's name. */
const PLACE_NAME = /^[a-z0-9][a-z0-9-]{0,62}$/
const PROJECT_NAME = /^[A-Za-z0-9][A-Za-z0-9.:-]{0,127}$/

/**
 * Parses a configuration by the row of its provider. Throws INVALID_ARGUMENT that names the provider, the
 * model or the member that is wrong. A member that the provider does not have is refused.
 */
export function parseByProvider<Config>(
  task: ProviderTask,
  { value, where }: { readonly value: unknown; readonly where: string },
  parsers: Partial<Readonly<Record<ProviderName, FieldsParser<Config>>>>,
): Config {
  const fields = new FieldReader(value, where)
  const name = fields.text('provider')
  const known = providersOf(task)
  if (name === undefined) {
    const message = `${where}.provider is required; it is one of ${known.join(', ')}`
    throw new ServiceError('INVALID_ARGUMENT', message)
  }
  const parse = isProviderName(name) ? parsers[name] : undefined
  if (!isProviderName(name) || parse === undefined) {
    const why = isProviderName(name) ? `has no ${task}` : 'is unknown'
    const message = `${where}.provider: "${name.slice(0, 100)}" ${why}; use one of ${known.join(', ')}`
    throw new ServiceError('INVALID_ARGUMENT', message)
  }
  const fallback = PROVIDERS[name].models[task]
  const model = fields.text('model') ?? fallback
  if (model === undefined || model === REQUIRED) {
    throw new ServiceError('INVALID_ARGUMENT', `${where}.model is required for provider ${name}`)
  }
  if (!isModelName(model)) {
    const message = `${where}.model: a name has letters, digits and . _ : / @ + - and no ".." between them`
    throw new ServiceError('INVALID_ARGUMENT', message)
  }
  const config = parse(fields, model)
  fields.finish(`${task} of provider ${name}`)
  return config
}

/** Names stand in paths of URLs, which they must not leave. */
function isModelName(name: string): boolean {
  return /^[\w.:/@+-]{1,512}$/.test(name) && !name.split('/').some((part) => /^\.{0,2}$/.test(part))
}

/** `url` and `api_key`. */
export function parseEndpoint(fields: FieldReader): EndpointConfig {
  return { url: parseUrl(fields), apiKey: fields.reference('api_key') }
}

/** `url` alone, of a provider that asks for no key. */
export function parseKeylessEndpoint(fields: FieldReader): EndpointConfig {
  return { url: parseUrl(fields), apiKey: undefined }
}

/** A URL, or one reference to it: a secret must not become a part of a host's name or of a path. */
export function parseUrl(fields: FieldReader, name = 'url'): string | undefined {
  const text = fields.reference(name)
  if (text === undefined) return undefined
  const pieces = parseReferences(text, fields.at(name))
  if (!hasReferences(pieces)) checkUrlText(text, fields.at(name))
  else if (pieces.length > 1) {
    const message = `${fields.at(name)} must be a URL or one reference, and nothing beside it`
    throw new ServiceError('INVALID_ARGUMENT', message)
  }
  return text
}

/**
 * The scheme, the host and the path, and nothing of what parsers forgive: user information, a query and a fragment,
 * also empty ones, would cut off the path that a provider appends.
 */
const URL_TEXT = /^https?:\/\/[^\s/?#@\\]+(?:\/[^\s?#@\\]*)?$/i

/** The form of a URL. Where it leads is checked at each use (access/url-rules.ts). */
export function checkUrlText(text: string, where: string): URL {
  const url = URL.parse(text)
  const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:'
  if (url === null || !isHttp || url.hostname === '') {
    throw new ServiceError('INVALID_ARGUMENT', `${where} must be a URL with http: or https:`)
  }
  if (!URL_TEXT.test(text)) {
    const message = `${where} must be http:// or https://, a host and a path, and hold no password, no query and no fragment; use api_key`
    throw new ServiceError('INVALID_ARGUMENT', message)
  }
  return url
}

export function parseVertexPlace(fields: FieldReader): VertexPlace {
  return {
    projectId: parseName(fields, 'project_id', PROJECT_NAME),
    location: parseName(fields, 'location', PLACE_NAME) ?? LOCATION_DEFAULT,
    url: parseUrl(fields),
  }
}

export function parseBedrockPlace(fields: FieldReader): BedrockPlace {
  return { region: parseName(fields, 'region', PLACE_NAME), url: parseUrl(fields) }
}

/** A name, or a text with references, which is checked when it is resolved. */
function parseName(fields: FieldReader, name: string, form: RegExp): string | undefined {
  const text = fields.reference(name)
  if (text === undefined || hasReferences(parseReferences(text, fields.at(name)))) return text
  if (!form.test(text)) {
    const message = `${fields.at(name)}: "${text.slice(0, 100)}" has characters that no such name has`
    throw new ServiceError('INVALID_ARGUMENT', message)
  }
  return text
}

/** Whether a resolved project, location or region has the form of one. */
export function isPlaceName(kind: 'project_id' | 'location' | 'region', text: string): boolean {
  return (kind === 'project_id' ? PROJECT_NAME : PLACE_NAME).test(text)
}
