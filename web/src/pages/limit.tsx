import { Empty } from '../components/feedback';

export function LimitPage({ id }: { queue: string; id: string; query: URLSearchParams }) {
  return <><h1>Limit {id}</h1><Empty>Not available yet.</Empty></>;
}
