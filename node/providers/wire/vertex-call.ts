import type { EndpointQuestion } from '../access/provider-access.ts'
import type { VertexPlace } from '../config/provider-config.ts'
import { refused } from '../contract/provider-error.ts'
import type { WireParts } from './wire-parts.ts'

const GLOBAL = 'global'

/** One call of the cloud AI platform. */
export interface VertexRequest {
  readonly name: string
  readonly asker?: EndpointQuestion['asker']
  /** The service's own URL in a location. */
  readonly ownUrl: (location: string) => string
  /** Below the project and the location; begins with a slash. */
  readonly path: (place: { readonly project: string; readonly location: string }) => string
  readonly body: unknown
  readonly answerBytesMax: number
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** The JSON of the answer. The node's token goes to the platform's own hosts and to those that the operator named. */
export async function vertexCall(
  parts: WireParts,
  config: VertexPlace,
  { name, asker = 'index', ownUrl, path, ...request }: VertexRequest,
): Promise<unknown> {
  const { access, caller, identity } = parts
  const texts = access.texts()
  const placeOf = (text: string | undefined, kind: 'location' | 'project_id') =>
    access.placeName(text, { name, kind, texts })
  const location = (await placeOf(config.location, 'location')) ?? GLOBAL
  const endpoint = await access.endpoint({
    name,
    provider: 'vertex',
    config: { url: config.url, apiKey: undefined },
    ownUrl: ownUrl(location),
    asker,
    texts,
  })
  if (!endpoint.maySendSecrets) {
    throw refused(
      `${name}: url: the node's token is sent only to the platform; name the host in the node's provider hosts`,
    )
  }
  const { signal } = request
  const project =
    (await placeOf(config.projectId, 'project_id')) ??
    access.variable('GOOGLE_CLOUD_PROJECT') ??
    (await identity.projectId(signal))
  if (project === undefined) {
    throw refused(`${name}: project_id is required; write it, or set GOOGLE_CLOUD_PROJECT`)
  }
  const token = await identity.token(name, signal)
  return caller.callForJson({
    name,
    endpoint: {
      ...endpoint,
      redact: (text) => endpoint.redact(text).replaceAll(token, '[secret]'),
    },
    path: path({ project, location }),
    headers: { authorization: `Bearer ${token}` },
    ...request,
  })
}

/** The host of models in a location. */
export function modelsUrl(location: string): string {
  const prefix = location === GLOBAL ? '' : `${location}-`
  return `https://${prefix}aiplatform.googleapis.com`
}

/** The path of a method of a model of the platform's own. */
export function modelPath(
  { project, location }: { readonly project: string; readonly location: string },
  { model, method }: { readonly model: string; readonly method: 'predict' | 'generateContent' },
): string {
  const place = `projects/${project}/locations/${location}`
  return `/v1/${place}/publishers/google/models/${encodeURIComponent(model)}:${method}`
}
