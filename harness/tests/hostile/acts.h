/*
 * SPDX-FileCopyrightText: the tbk authors
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * acts.h: what happens in the middle of a call, named once: NAME is the row, act_NAME the function.
 */
#ifndef TBK_HOSTILE_ACTS_H
#define TBK_HOSTILE_ACTS_H

#define HOSTILE_REPORT_ACTS(X)     \
  X(report_byte)                   \
  X(report_long_line)              \
  X(report_random)                 \
  X(report_nul)                    \
  X(report_half)                   \
  X(report_forged)                 \
  X(report_forged_done)            \
  X(report_forged_health)          \
  X(report_closed)                 \
  X(report_replaced)               \
  X(report_own_pipe)               \
  X(report_from_child)             \
  X(report_from_daemon)            \
  X(report_flood)                  \
  X(report_full_and_unblocked)     \
  X(report_every_descriptor)       \
  X(report_appends)                \
  X(report_taken_away_for_a_while) \
  X(report_small_pipe)             \
  X(report_is_stderr)              \
  X(report_forged_key)             \
  X(report_watched)                \
  X(report_closed_with_all)

#define HOSTILE_PROCESS_ACTS(X) \
  X(fork_bomb)                  \
  X(fork_chain)                 \
  X(fork_sessions)              \
  X(child_eats_memory)          \
  X(child_returns)              \
  X(child_hangs)                \
  X(child_crashes)              \
  X(reaps_all)                  \
  X(stop_parent)                \
  X(odd_name)                   \
  X(new_session)                \
  X(many_threads)               \
  X(main_thread_leaves)         \
  X(kill_parents_group)         \
  X(signal_parent)              \
  X(trace_parent)               \
  X(traced_by_parent)           \
  X(child_of_parent)            \
  X(own_subreaper)              \
  X(own_pid_namespace)          \
  X(fork_runner)                \
  X(vfork_hangs)                \
  X(calls_system)               \
  X(exec_true)                  \
  X(exec_hangs)                 \
  X(outlives_its_parent)

#define HOSTILE_SIGNAL_ACTS(X) \
  X(kill_itself)               \
  X(term_itself)               \
  X(pipe_itself)               \
  X(stop_by_terminal)          \
  X(alarm_rings)               \
  X(exit_86)                   \
  X(exit_now_86)               \
  X(quick_exit_0)              \
  X(self_deadlock)             \
  X(ignores_all)               \
  X(double_free)               \
  X(divide_by_zero)            \
  X(signal_storm)              \
  X(timer_threads)             \
  X(crash_handled_exit_0)      \
  X(crash_handled_for_ever)    \
  X(exit_86_on_term)           \
  X(exit_342)                  \
  X(exit_in_thread)            \
  X(exit_handler_exits_0)      \
  X(realtime_signal)           \
  X(bus_error)                 \
  X(illegal_instruction)       \
  X(trap)                      \
  X(main_thread_cancelled)     \
  X(stdout_locked)

#define HOSTILE_CRASH_ACTS(X)       \
  X(call_null)                      \
  X(ruin_stack)                     \
  X(crash_in_many_threads)          \
  X(crash_while_loading)            \
  X(overflow_stack_without_another) \
  X(overflow_stack_of_thread)       \
  X(exception_thrown)               \
  X(shared_pages_unmapped)          \
  X(shared_memory_eaten)

#define HOSTILE_LIMIT_ACTS(X) \
  X(no_descriptors)           \
  X(no_file_size)             \
  X(cpu_time_over)            \
  X(no_address_space)         \
  X(closed_output)            \
  X(full_output)              \
  X(other_folder)             \
  X(odd_umask)                \
  X(parents_limits)           \
  X(parents_priority)

#define HOSTILE_SURROUNDING_ACTS(X) \
  X(rounds_up)                      \
  X(flushes_subnormals)             \
  X(traps_arithmetic)               \
  X(no_environment)                 \
  X(folder_gone)                    \
  X(other_root)                     \
  X(other_user)                     \
  X(not_dumpable)                   \
  X(own_namespaces)                 \
  X(lowest_priority)                \
  X(one_processor)                  \
  X(memory_locked)                  \
  X(seccomp_strict)                 \
  X(seccomp_kills)                  \
  X(seccomp_refuses_reports)        \
  X(output_unblocked)               \
  X(output_closed_by_stream)        \
  X(prints_for_ever)

#define HOSTILE_ACTS(X)   \
  HOSTILE_REPORT_ACTS(X)  \
  HOSTILE_PROCESS_ACTS(X) \
  HOSTILE_SIGNAL_ACTS(X) HOSTILE_CRASH_ACTS(X) HOSTILE_LIMIT_ACTS(X) HOSTILE_SURROUNDING_ACTS(X)

#define HOSTILE_DECLARE(name) void act_##name(void);
HOSTILE_ACTS(HOSTILE_DECLARE)

#endif /* TBK_HOSTILE_ACTS_H */
