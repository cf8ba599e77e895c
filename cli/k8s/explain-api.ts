// Explains what an API server refused, or why it was not reached, in one sentence with a remedy.

import { EXIT } from '../../lib/process/exit-codes.ts'
import { ApiError, NO_ANSWER } from '../../operator/runtime/api/api-error.ts'
import { CliError } from '../process/exit.ts'
import type { ClusterPlace } from './cluster-reader.ts'

/** Codes of the operating system, of OpenSSL and of Node's HTTP client. */
const FAILURES: readonly { readonly codes: RegExp; readonly sentence: string }[] = [
  {
    codes: /^ECONNREFUSED$/,
    sentence: 'nothing listens there; is the Kubernetes cluster running?',
  },
  { codes: /^ENOTFOUND$/, sentence: 'the host does not exist; check the kubeconfig' },
  { codes: /^EAI_AGAIN$/, sentence: 'its name cannot be resolved now; check the network' },
  {
    codes: /^ETIMEDOUT$|^UND_ERR_CONNECT_TIMEOUT$/,
    sentence: 'the connection timed out; check the network, and whether a VPN is needed',
  },
  { codes: /^EHOSTUNREACH$|^ENETUNREACH$/, sentence: 'the network has no route to it' },
  {
    codes: /^ECONNRESET$|^EPIPE$|^UND_ERR_SOCKET$/,
    sentence: 'the connection was closed; check the address and proxies',
  },
  {
    codes: /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    sentence:
      'its certificate is not for this name; check server and tls-server-name of the kubeconfig',
  },
  { codes: /^CERT_HAS_EXPIRED$/, sentence: 'its certificate has expired' },
  {
    codes: /CERT|SELF_SIGNED|^UNABLE_TO_/,
    sentence:
      'its certificate is not trusted; check certificate-authority-data of the kubeconfig, which may be that of an earlier cluster',
  },
  {
    codes: /^EPROTO$|^ERR_SSL_/,
    sentence: 'it does not speak TLS; check server of the kubeconfig',
  },
]

/** Errors that are not the API's stay as they are. */
export function explainApi(error: unknown, place: ClusterPlace): unknown {
  if (!(error instanceof ApiError)) return error
  if (error.status === NO_ANSWER) return unreachable(error, place)
  return new CliError(EXIT.refused, codeOf(error), sentenceOf(error, place), { cause: error })
}

function unreachable(error: ApiError, { server, context }: ClusterPlace): CliError {
  const root = rootOf(error)
  const code = root instanceof Error && 'code' in root ? String(root.code) : ''
  const known = FAILURES.find(({ codes }) => code !== '' && codes.test(code))
  const said = root instanceof Error ? root.message : String(root)
  const sentence = known === undefined ? said : `${known.sentence} (${code})`
  const message = `the API server ${server} (context ${context}) cannot be reached: ${sentence}`
  return new CliError(EXIT.unreachable, 'UNREACHABLE', message, { cause: error })
}

/** If several addresses failed, the last one's error. */
function rootOf(error: unknown): unknown {
  let root = error
  for (;;) {
    if (root instanceof AggregateError && root.errors.length > 0) root = root.errors.at(-1)
    else if (root instanceof Error && root.cause instanceof Error) root = root.cause
    else return root
  }
}

const CODES: Readonly<Record<number, string>> = {
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
}

function codeOf({ status }: ApiError): string {
  return CODES[status] ?? 'KUBERNETES'
}

function sentenceOf({ status, message }: ApiError, { context, server }: ClusterPlace): string {
  switch (status) {
    case 401:
      return `the API server ${server} does not accept the credentials of context ${context}: they are missing or have expired; log in again`
    case 403:
      return `${message}; the roles view, edit and admin have this right, if the operator's chart gave it to them`
    case 404:
      return `the kind StoreCluster is not installed at ${server} (context ${context}); docs/how-to/install-operator.md says how`
    default:
      return `the API server ${server} (context ${context}) answered ${status}: ${message}`
  }
}
