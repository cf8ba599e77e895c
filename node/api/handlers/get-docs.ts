import { docs } from '../docs.ts'
import type { Handler } from '../operation.ts'

export const getDocs: Handler = () => docs.page
