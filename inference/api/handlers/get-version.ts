import { jsonReply } from '../../../lib/http/reply.ts'
import type { Handler } from '../operation.ts'

export const getVersion: Handler = (_request, { service: { version } }) =>
  jsonReply(200, {
    version: version.version,
    ...(version.gitCommit !== undefined && { git_commit: version.gitCommit }),
    build_time: version.buildTime,
    // Clients of an older server, which ran on Go, read its runtime under this name.
    go_version: `node ${version.runtimeVersion}`,
    runtime_version: version.runtimeVersion,
  })
