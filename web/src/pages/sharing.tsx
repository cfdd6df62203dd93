import { Empty } from '../components/feedback';

export function SharingPage(_: { queue: string; query: URLSearchParams }) {
  return <><h1>Sharing</h1><Empty>Not available yet.</Empty></>;
}
