export function OverviewPage(_: { queue: string; id?: string; query?: URLSearchParams }) {
  return <h1>Overview</h1>;
}
