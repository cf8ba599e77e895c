import { docsPageReply } from '../docs-page.ts'
import type { Handler } from '../operation.ts'

export const getDocs: Handler = () => docsPageReply()
