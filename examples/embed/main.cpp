// The smallest program that stands on an installed rind: it says which one.
#include <iostream>

#include "messages/version.hpp"

int main() {
  std::cout << "embeds rind " << RIND_VERSION << '\n';
}
