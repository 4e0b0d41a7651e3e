// Results that are not complete yet, under a temporary name beside their final one.
//
//   Temporary t("net.csp");  make t.path(), a file or a folder;  t.put_in_place(why);
//
// The final name always stands for the old or for the new result, whatever is killed in between: an existing
// folder and the new one change names in one step. What a killed tool left is removed by the next one that
// writes the same result.
#pragma once

#include <string>

namespace cs {

class Temporary {
 public:
  explicit Temporary(const std::string& final_path);
  ~Temporary();  // removes it unless it was put in place
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  const std::string& path() const { return path_; }
  const std::string& final_path() const { return final_; }  // links followed
  bool put_in_place(std::string& why);

 private:
  std::string final_, path_;
  bool in_place_ = false;
};

// For a process that is about to end by a signal: removes every Temporary of it, and no new one can be made.
void remove_temporaries();

}  // namespace cs
