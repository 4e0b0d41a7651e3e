// Several events after all of which a task runs, without counting them: the first event activates the task, which is
// blocked, and the next one unblocks it. Of three and more, each but the first and the last has a task of its own in
// between: the event activates it, the one behind unblocks it, and it unblocks what the event before has activated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cs::autogen {

class Join {
 public:
  // `names`: by event, what its own task is called if it has one; ids are called so with _id.
  Join(std::string task, std::vector<std::string> names) : task_(std::move(task)), names_(std::move(names)) {}

  size_t events() const { return names_.size(); }
  static bool has_own_task(size_t event, size_t events) { return event > 0 && event + 1 < events; }
  // What happens at an event: the field of an operation, or the builtin, and the task's id.
  struct End {
    const char* what;
    std::string id;
  };
  End end_of(size_t event) const {
    const bool last = event > 0 && event + 1 == events();
    return {last ? "unblock" : "activate", id_of(last ? event - 1 : event)};
  }
  // The events' own tasks.
  std::string tasks() const;
  // At compile time; the task itself blocks itself again when it runs.
  std::string bindings() const;
  std::string block_again() const { return events() > 1 ? "  @block(" + id_of(0) + ");\n" : ""; }

 private:
  std::string id_of(size_t event) const { return (event == 0 ? task_ : names_[event]) + "_id"; }

  std::string task_;
  std::vector<std::string> names_;
};

// `ask` for operand i in the first of so many rounds, for which it stays; in the others `there` instead, its event. The
// rounds are counted by x<i>_stays.
std::string ask_every(int64_t rounds, size_t operand, const std::string& ask, const std::string& there);

}  // namespace cs::autogen
