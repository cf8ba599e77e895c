// Where an `s3:` URL leads, and with which signature.
//
//   s3://bucket/key            the configured endpoint, or Amazon's of the region
//   s3://endpoint/bucket/key   another server; a name with a dot or a port is an endpoint
//
// The node's credentials are for the configured endpoint and the listed buckets alone. Otherwise every
// client that may write a document could read every bucket that the node can read.

import { AwsV4Signer } from 'aws4fetch'
import type { Env } from '../../lib/env.ts'
import { refuseMedium } from './media-error.ts'

/** How the node reads from S3. */
export interface S3Settings {
  readonly endpoint: URL
  readonly region: string
  /** The buckets at the endpoint that may be read; `*` for all. */
  readonly buckets: readonly string[]
  /** Absent: requests are not signed. */
  readonly credentials: S3Credentials | undefined
}

/** The keys that sign requests. */
export interface S3Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken: string | undefined
}

/** Where to download an object from. */
export interface S3Target {
  readonly url: URL
  /** The server is the configured one, which may have a private address. */
  readonly isConfigured: boolean
}

const FORM = /^s3:\/\/([^/?#]+)\/([^?#]*)$/i
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/

/** The settings by the variables that Amazon's tools read, for the buckets that may be read. */
export function s3SettingsOf(env: Env, buckets: readonly string[]): S3Settings {
  const region = env['AWS_REGION'] ?? env['AWS_DEFAULT_REGION'] ?? 'us-east-1'
  const given = env['AWS_ENDPOINT_URL_S3'] ?? env['AWS_ENDPOINT_URL']
  const endpoint = URL.parse(given ?? `https://s3.${region}.amazonaws.com`)
  if (endpoint === null) throw refuseMedium(`AWS_ENDPOINT_URL_S3 is not a URL: ${given}`)
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env
  const sessionToken = env['AWS_SESSION_TOKEN']
  const credentials =
    accessKeyId === undefined || secretAccessKey === undefined
      ? undefined
      : { accessKeyId, secretAccessKey, sessionToken }
  return { endpoint, region, buckets, credentials }
}

/** Throws INVALID_ARGUMENT for a URL of another form, and for a bucket that is not allowed. */
export function s3TargetOf(text: string, settings: S3Settings | undefined): S3Target {
  const { server, bucket, parts } = splitUrl(text)
  // A URL takes such parts away, and could then lead into another bucket.
  if (parts.some((part) => part === '.' || part === '..')) {
    throw refuseMedium('the key must not have a part . or ..')
  }
  const way = [bucket, ...parts].map(encodePart).join('/')
  if (server !== undefined && server !== settings?.endpoint.host) {
    const url = URL.parse(`https://${server}/${way}`)
    if (url === null) throw refuseMedium(`${server} is not an endpoint`)
    return { url, isConfigured: false }
  }
  if (settings === undefined || !isAllowed(bucket, settings)) {
    throw refuseMedium(`bucket ${bucket} is not among the allowed buckets`)
  }
  return { url: new URL(`/${way}`, settings.endpoint), isConfigured: true }
}

interface S3Parts {
  readonly server: string | undefined
  readonly bucket: string
  /** The key, between its slashes. */
  readonly parts: readonly string[]
}

function splitUrl(text: string): S3Parts {
  const [, first = '', rest = ''] = FORM.exec(text) ?? []
  const isServer = /[.:]/.test(first)
  const [bucket = '', ...parts] = isServer ? rest.split('/') : [first, ...rest.split('/')]
  if (!BUCKET.test(bucket) || parts.join('') === '') {
    throw refuseMedium('it must have the form s3://bucket/key or s3://endpoint/bucket/key')
  }
  return { server: isServer ? first.toLowerCase() : undefined, bucket, parts }
}

function isAllowed(bucket: string, { buckets }: S3Settings): boolean {
  return buckets.includes(bucket) || buckets.includes('*')
}

/** The headers that sign a request for an object; none without credentials. */
export async function s3Headers(
  url: URL,
  { region, credentials }: S3Settings,
  nowMs: number,
): Promise<Record<string, string>> {
  if (credentials === undefined) return {}
  const { accessKeyId, secretAccessKey, sessionToken } = credentials
  const signer = new AwsV4Signer({
    method: 'GET',
    url: url.href,
    service: 's3',
    region,
    accessKeyId,
    secretAccessKey,
    ...(sessionToken === undefined ? {} : { sessionToken }),
    datetime: new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d{3}/g, ''),
  })
  const { headers } = await signer.sign()
  return Object.fromEntries(headers.entries())
}

function encodePart(part: string): string {
  return encodeURIComponent(part).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
