// The documentation page: Swagger UI from our own disk, reading the contract next to it.

import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { bytesReply, emptyReply } from '../../lib/http/reply.ts'
import type { BytesReply } from '../../lib/http/reply.ts'

/** Nothing from elsewhere, no inline script. Swagger UI's style sheet holds its icons as data: URLs. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Quarry store API</title>
<link rel="stylesheet" href="docs/swagger-ui.css">
<link rel="icon" href="docs/favicon-32x32.png">
</head>
<body>
<div id="swagger-ui"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`

// Without a null validatorUrl, Swagger UI asks a public service to judge the contract.
const START_SCRIPT = `SwaggerUIBundle({
  url: 'openapi.yaml',
  dom_id: '#swagger-ui',
  deepLinking: true,
  validatorUrl: null,
})
`

const ASSETS_PREFIX = '/api/v1/docs/'
const ASSET_TYPES: ReadonlyMap<string, string> = new Map([
  ['swagger-ui.css', 'text/css; charset=utf-8'],
  ['swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
  ['favicon-32x32.png', 'image/png'],
])

export function docsPageReply(): BytesReply {
  return pageReply(Buffer.from(PAGE), 'text/html; charset=utf-8')
}

/** Files the page loads, and the way to it from `/`. Undefined for every other path. */
export async function docsAssetReply(path: string): Promise<BytesReply | undefined> {
  if (path === '/') return emptyReply(302, ['Location', '/api/v1/docs'])
  if (!path.startsWith(ASSETS_PREFIX)) return undefined
  const name = path.slice(ASSETS_PREFIX.length)
  if (name === 'start.js') {
    return pageReply(Buffer.from(START_SCRIPT), 'text/javascript; charset=utf-8')
  }
  const type = ASSET_TYPES.get(name)
  if (type === undefined) return undefined
  const file = fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`))
  return pageReply(await readFile(file), type)
}

function pageReply(body: Buffer, type: string): BytesReply {
  return bytesReply(200, body, [
    'Content-Type',
    type,
    'Content-Security-Policy',
    CONTENT_SECURITY_POLICY,
  ])
}
