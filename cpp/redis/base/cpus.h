#pragma once

namespace holdfast {

// How many CPUs this process may use at a time, 1 at least: those of its affinity, and no more than
// the quota of its cgroup, rounded up to a whole one (`cpu.max` of cgroup v2, `cpu.cfs_quota_us` of
// v1). Reads a few small files. Any thread.
int usable_cpus();

}  // namespace holdfast
