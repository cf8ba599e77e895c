import { jsonReply } from '../../../lib/http/reply.ts'
import type { Handler } from '../operation.ts'

export const getVersion: Handler = (_request, { service: { version } }) =>
  jsonReply(200, {
    version: version.version,
    ...(version.gitCommit !== undefined && { git_commit: version.gitCommit }),
    build_time: version.buildTime,
    // The contract of an older server has this name for what runs it, which here is no Go.
    go_version: `node ${version.runtimeVersion}`,
    runtime_version: version.runtimeVersion,
  })
